internal import Foundation
internal import Touchstone

/// The environment's proxies, as curl under URLSession heeds them on Linux (curl(1), "ENVIRONMENT").
///
/// TLS goes through a proxy unread. Plain HTTP, which this module sends to its own machine alone, would be the proxy's to read,
/// passwords among it.
enum ProxyVariables {
    /// The variable that names a proxy for plain HTTP to this host; nil for none.
    ///
    /// Where curl's reading of `no_proxy` is more generous than this one, the proxy counts all the same.
    static func proxying(_ host: String, in environment: [String: String]) -> String? {
        // curl does not look at HTTP_PROXY, which a request's header `Proxy` sets in a CGI program.
        let variable = ["http_proxy", "all_proxy", "ALL_PROXY"].first { environment[$0]?.isEmpty == false }
        guard let variable else { return nil }
        let exceptions = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
        if exceptions == "*" { return nil }
        // Versions of curl differ in how they compare addresses of IPv6.
        let isExcepted =
            !host.contains(":")
            && exceptions.lowercased().split { $0 == "," || $0 == " " }.contains { $0 == host.lowercased() }
        return isExcepted ? nil : variable
    }

    /// - Throws: `TouchstoneError` with `untrustedServer` for plain HTTP that a proxy would read.
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
