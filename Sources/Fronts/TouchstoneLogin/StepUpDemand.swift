internal import Touchstone

/// The authentication that a service requires: the challenge `insufficient_user_authentication` of RFC 9470, section
/// 3.
struct StepUpDemand: Equatable {
    /// The accepted authentication contexts; empty: any new authentication.
    let contexts: [String]

    /// The contexts of `touchstone-server`, weakest first (OpenID EAP ACR Values 1.0): a stronger one satisfies a weaker one.
    private static let ladder = [password, "phr", "phrh"]
    /// The context of a sign-in with the password.
    static let password = "pwd"

    /// Parses the header `WWW-Authenticate`.
    ///
    /// - Throws: `TouchstoneError` with `limitExceeded` for a header without such a challenge.
    init(_ header: String) throws(TouchstoneError) {
        let parameters = Self.parameters(header)
        guard parameters["error"] == "insufficient_user_authentication" else {
            throw TouchstoneError(
                .limitExceeded,
                details: ["wwwAuthenticate: error=\"insufficient_user_authentication\" (RFC 9470)"]
            )
        }
        contexts = parameters["acr_values"]?.split(separator: " ").map(String.init) ?? []
    }

    /// - Throws: `TouchstoneError` with `stepUpNeeded` if the context does not satisfy the challenge.
    func check(_ context: String) throws(TouchstoneError) {
        let serving = Self.ladder.firstIndex(of: context).map { Self.ladder[...$0] } ?? []
        guard contexts.isEmpty || contexts.contains(context) || contexts.contains(where: serving.contains)
        else {
            throw TouchstoneError(
                .stepUpNeeded,
                part: "server",
                nextStep: .askForHelp,
                details: ["wanted: \(contexts.joined(separator: " "))", "this gives: \(context)"]
            )
        }
    }

    /// The parameters of a challenge (RFC 9110, section 11.2), with lower-case names.
    private static func parameters(_ header: String) -> [String: String] {
        var parameters: [String: String] = [:]
        var rest = Substring(header)
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].split { $0 == " " || $0 == "," }.last ?? ""
            rest = rest[rest.index(after: equals)...]
            var value = ""
            if rest.first == "\"" {
                rest = rest.dropFirst()
                while let character = rest.popFirst(), character != "\"" {
                    value.append(character == "\\" ? rest.popFirst() ?? "\\" : character)
                }
            } else {
                value = String(rest.prefix { $0 != "," && $0 != " " })
                rest = rest.dropFirst(value.count)
            }
            parameters[name.lowercased()] = value
        }
        return parameters
    }
}
