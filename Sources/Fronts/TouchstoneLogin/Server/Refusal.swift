internal import Touchstone
internal import WebAuthnModel

/// A server's error response (RFC 9457, RFC 6749 section 5.2).
struct Refusal {
    let status: Int
    /// The error code; nil for a response that is not from this API, such as a proxy's page.
    let word: String?
    let detail: String?
    let retryAfter: Duration?
    /// The header `WWW-Authenticate`: what a step-up requires (RFC 9470).
    let challenge: String?

    init(_ response: LoginResponse) {
        status = response.status
        let members = (try? JSONValue(parsing: Array(response.body), depth: 16))?.object
        let word = members?["code"]?.string ?? members?["error"]?.string
        self.word = word.flatMap { $0.isErrorWord ? $0 : nil }
        detail = members?["detail"]?.string?.loggable
        retryAfter = response.headers["retry-after"].flatMap { Int($0) }
            .flatMap { 0...86_400 ~= $0 ? .seconds($0) : nil }
        challenge = response.headers["www-authenticate"]?.loggable
    }
}

extension TouchstoneError {
    /// The error for a server's error response: by its code, then by its status.
    init(_ refusal: Refusal) {
        let (code, nextStep) = Self.meaning(of: refusal)
        self.init(
            code,
            part: "server",
            cause: refusal.word == "insufficient_user_authentication"
                ? refusal.challenge : refusal.word ?? "\(refusal.status)",
            nextStep: nextStep,
            retryAfter: refusal.retryAfter,
            details: refusal.detail.map { [$0] } ?? []
        )
    }

    /// The error for a reply without a required, valid member.
    static func badReply(_ member: String) -> TouchstoneError {
        TouchstoneError(.badReply, part: "server", details: [member])
    }

    private static func meaning(of refusal: Refusal) -> (Code, NextStep?) {
        switch refusal.word {
        case "invalid_token", "invalid_grant": (.sessionEnded, nil)
        // Of an assertion; a wrong password has its own error (``asPassword``).
        case "authentication_failed": (.signatureRefused, nil)
        case "credential_suspended": (.deviceRevoked, nil)
        case "credential_expired": (.expired, .setUpAgain)
        case "insufficient_user_authentication": (.stepUpNeeded, nil)
        // The server's policy: repeating the same does not help.
        case "insufficient_assurance": (.stepUpNeeded, .askForHelp)
        case "ceremony_expired": (.replayed, nil)
        case "invalid_dpop_proof" where refusal.detail == "replayed": (.replayed, nil)
        case "too_many_attempts", "overloaded", "temporarily_unavailable": (.throttled, nil)
        case "not_found": (.notFound, nil)
        case "credential_exists": (.alreadyExists, nil)
        case "attestation_untrusted", "attestation_revoked", "boot_state_untrusted", "key_policy_rejected":
            (.hardwareTooWeak, nil)
        case "internal_error", "server_error": (.unreachable, nil)
        case "use_dpop_nonce": (.badReply, nil)
        case .some where 400..<500 ~= refusal.status: (.refused, nil)
        case nil where refusal.status == 429: (.throttled, nil)
        case _ where refusal.status >= 500: (.unreachable, nil)
        default: (.badReply, nil)
        }
    }

    /// Whether the server reports that the session has ended.
    var isEndOfSession: Bool { self == .sessionEnded && part == "server" }

    /// The same with another code, as the server's answer to this request means it, and that code's next step.
    func with(_ code: Code) -> TouchstoneError {
        TouchstoneError(code, part: part, cause: cause, retryAfter: retryAfter, details: details)
    }

    /// The error of a request that sent a password: a failed authentication is a wrong password.
    var asPassword: TouchstoneError { self == .signatureRefused ? with(.wrongPassword) : self }
}

extension String {
    /// Whether it has the form of an error code.
    fileprivate var isErrorWord: Bool {
        1...64 ~= utf8.count && utf8.allSatisfy { $0 == UInt8(ascii: "_") || 0x61...0x7A ~= $0 }
    }

    /// At most 200 characters, without any that could break a log's lines.
    var loggable: String {
        String(String.UnicodeScalarView(unicodeScalars.prefix(200).filter { $0.properties.isLoggable }))
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isLoggable: Bool {
        switch generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
            false
        default: true
        }
    }
}
