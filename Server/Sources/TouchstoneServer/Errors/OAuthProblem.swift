internal import WebAuthnModel

/// An error of the token endpoints, in the form of RFC 6749, section 5.2.
struct OAuthProblem: Error, Sendable, Equatable {
    let code: Code
    var description: String?

    enum Code: String, Sendable, CaseIterable {
        case invalidRequest = "invalid_request"
        case invalidClient = "invalid_client"
        case invalidGrant = "invalid_grant"
        case unsupportedGrantType = "unsupported_grant_type"
        /// RFC 6749, section 5.2.
        case invalidScope = "invalid_scope"
        /// RFC 8707, section 2.
        case invalidTarget = "invalid_target"
        /// RFC 9449, section 5.
        case invalidDPoPProof = "invalid_dpop_proof"
        /// RFC 9449, section 8.
        case useDPoPNonce = "use_dpop_nonce"
        /// RFC 7009, section 2.2.1.
        case temporarilyUnavailable = "temporarily_unavailable"
        case serverError = "server_error"
    }

    init(_ code: Code, _ description: String? = nil) {
        self.code = code
        self.description = description
    }

    /// Converts a problem to its OAuth error.
    init(_ problem: Problem) {
        let code: Code =
            switch problem.code {
            case .invalidDPoPProof: .invalidDPoPProof
            case .useDPoPNonce: .useDPoPNonce
            case .invalidScope: .invalidScope
            case .invalidTarget: .invalidTarget
            case .overloaded, .tooManyAttempts: .temporarilyUnavailable
            case .internalError: .serverError
            case .invalidToken: .invalidClient
            default: .invalidRequest
            }
        self.init(code, problem.detail)
    }

    var body: JSONValue {
        JSONValue(members: [
            "error": .string(code.rawValue), "error_description": description.map { .string($0) },
        ])
    }
}
