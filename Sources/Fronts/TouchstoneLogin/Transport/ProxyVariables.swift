internal import Foundation
internal import Touchstone

/// The proxy variables that curl, on which URLSession is built on Linux, reads from the environment (curl(1), "ENVIRONMENT").
///
/// A proxy cannot read TLS. It could read plain HTTP, passwords included; this module sends plain HTTP only to its own machine.
enum ProxyVariables {
    /// The variable that sets a proxy for plain HTTP to this host; nil for none.
    ///
    /// Matches `no_proxy` more strictly than curl does: in doubt the proxy counts.
    static func proxying(_ host: String, in environment: [String: String]) -> String? {
        // curl ignores HTTP_PROXY, because a request's header `Proxy` sets it in a CGI program.
        let variable = ["http_proxy", "all_proxy", "ALL_PROXY"].first { environment[$0]?.isEmpty == false }
        guard let variable else { return nil }
        let exceptions = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
        if exceptions == "*" { return nil }
        // curl versions differ in how they compare IPv6 addresses.
        let isExcepted =
            !host.contains(":")
            && exceptions.lowercased().split { $0 == "," || $0 == " " }.contains { $0 == host.lowercased() }
        return isExcepted ? nil : variable
    }

    /// - Throws: `TouchstoneError` with `untrustedServer` for plain HTTP that a proxy could read.
    static func check(_ url: URL) throws(TouchstoneError) {
        guard url.scheme?.lowercased() == "http", let host = url.host(),
            let variable = proxying(host, in: ProcessInfo.processInfo.environment)
        else { return }
        throw TouchstoneError(
            .untrustedServer,
            part: "URLSession",
            nextStep: .askForHelp,
            details: ["\(variable) names a proxy, which would read plain HTTP: set no_proxy=\(host)"]
        )
    }
}
