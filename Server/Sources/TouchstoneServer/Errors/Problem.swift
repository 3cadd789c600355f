internal import WebAuthnModel

/// An error as a client gets it: `application/problem+json` (RFC 9457), with a code to act on.
public struct Problem: Error, Sendable, Equatable {
    /// What a client acts on; also the last part of `type`.
    public let code: Code
    /// For the developer of a client; never holds what another request sent.
    public var detail: String?
    /// The members of the body that are wrong.
    public var faults: [Fault] = []
    /// Seconds after which it is worth another try.
    public var retryAfter: Int?
    /// What a step-up has to bring (RFC 9470).
    public var stepUp: StepUp?
    /// What the audit record says; not for the client.
    public var reason: String?
    /// Whether the request had an access token: decides what `WWW-Authenticate` says (RFC 6750, section 3.1).
    var hadToken = false

    /// A member of a body that is wrong.
    public struct Fault: Sendable, Equatable {
        /// A JSON pointer (RFC 6901).
        public let pointer: String
        /// What it has to be.
        public let detail: String
    }

    /// What a step-up has to bring.
    public struct StepUp: Sendable, Equatable {
        /// Authentication contexts, one of which is enough.
        public var acrValues: String?
        /// Seconds since the authentication, at most.
        public let maxAge: Int
    }

    /// The codes, and the status of each.
    public enum Code: String, Sendable, CaseIterable {
        /// Malformed JSON, or a member that is wrong.
        case invalidRequest = "invalid_request"
        /// A DPoP proof that does not hold.
        case invalidDPoPProof = "invalid_dpop_proof"
        /// A DPoP proof without a current nonce; the answer has one in `DPoP-Nonce`.
        case useDPoPNonce = "use_dpop_nonce"
        /// Any login that failed: why is said in the audit record only.
        case authenticationFailed = "authentication_failed"
        /// No access token, or one that is not good any more.
        case invalidToken = "invalid_token"
        /// The session is not fresh or not strong enough (RFC 9470).
        case insufficientUserAuthentication = "insufficient_user_authentication"
        /// The credential is known and suspended.
        case credentialSuspended = "credential_suspended"
        /// An administrator locked the account.
        case accountLockedByAdmin = "account_locked_by_admin"
        /// Known, and not allowed.
        case forbidden
        /// Nothing there that is the caller's.
        case notFound = "not_found"
        /// The address knows other methods.
        case methodNotAllowed = "method_not_allowed"
        /// The credential's id is registered.
        case credentialExists = "credential_exists"
        /// The transaction was decided or has expired.
        case transactionNotPending = "transaction_not_pending"
        /// The user's name is taken.
        case usernameTaken = "username_taken"
        /// An unknown, used or old ceremony.
        case ceremonyExpired = "ceremony_expired"
        /// More than 64 KiB.
        case contentTooLarge = "content_too_large"
        /// Not the content type that the endpoint reads.
        case unsupportedMediaType = "unsupported_media_type"
        /// The registration does not hold.
        case attestationRejected = "attestation_rejected"
        /// The attestation leads to nobody who is trusted.
        case attestationUntrusted = "attestation_untrusted"
        /// The key's policy is none of those that are accepted.
        case keyPolicyRejected = "key_policy_rejected"
        /// A password that is too short, too long or too common.
        case weakPassword = "weak_password"
        /// Too many attempts: wait.
        case tooManyAttempts = "too_many_attempts"
        /// A defect of the server's; its log has the trace id.
        case internalError = "internal_error"
        /// Passwords queue up, or the database is not there: try again.
        case overloaded

        /// The status code.
        public var status: Int {
            switch self {
            case .invalidRequest, .invalidDPoPProof, .useDPoPNonce: 400
            case .authenticationFailed, .invalidToken, .insufficientUserAuthentication: 401
            case .credentialSuspended, .accountLockedByAdmin, .forbidden: 403
            case .notFound: 404
            case .methodNotAllowed: 405
            case .credentialExists, .transactionNotPending, .usernameTaken: 409
            case .ceremonyExpired: 410
            case .contentTooLarge: 413
            case .unsupportedMediaType: 415
            case .attestationRejected, .attestationUntrusted, .keyPolicyRejected, .weakPassword: 422
            case .tooManyAttempts: 429
            case .internalError: 500
            case .overloaded: 503
            }
        }

        /// In words, the same for every occurrence (RFC 9457, section 3.1.4).
        var title: String {
            switch self {
            case .invalidRequest: "The request is malformed"
            case .invalidDPoPProof: "The DPoP proof does not hold"
            case .useDPoPNonce: "The DPoP proof needs the server's nonce"
            case .authenticationFailed: "The login failed"
            case .invalidToken: "The access token is missing or not valid"
            case .insufficientUserAuthentication: "The user has to authenticate again"
            case .credentialSuspended: "The credential is suspended"
            case .accountLockedByAdmin: "The account is locked"
            case .forbidden: "Not allowed"
            case .notFound: "Not found"
            case .methodNotAllowed: "The method is not allowed here"
            case .credentialExists: "The credential is registered"
            case .transactionNotPending: "The transaction is not pending"
            case .usernameTaken: "The name is taken"
            case .ceremonyExpired: "The ceremony is unknown, used or too old"
            case .contentTooLarge: "The body is too large"
            case .unsupportedMediaType: "The content type is not supported"
            case .attestationRejected: "The registration was rejected"
            case .attestationUntrusted: "The attestation is not trusted"
            case .keyPolicyRejected: "The key's policy was rejected"
            case .weakPassword: "The password is too weak"
            case .tooManyAttempts: "Too many attempts"
            case .internalError: "Something is wrong with the server"
            case .overloaded: "The server is overloaded"
            }
        }
    }

    /// Describes an error.
    public init(_ code: Code, _ detail: String? = nil) {
        self.code = code
        self.detail = detail
    }

    /// A login that failed; `reason` is for the audit record.
    static func authenticationFailed(_ reason: String) -> Problem {
        var problem = Problem(.authenticationFailed)
        problem.reason = reason
        return problem
    }

    /// Wait, and try again.
    static func tooManyAttempts(retryAfter: Int) -> Problem {
        var problem = Problem(.tooManyAttempts)
        problem.retryAfter = max(retryAfter, 1)
        return problem
    }

    /// Try again soon.
    static func overloaded(_ reason: String, retryAfter: Int = 1) -> Problem {
        var problem = Problem(.overloaded)
        problem.retryAfter = max(retryAfter, 1)
        problem.reason = reason
        return problem
    }

    /// The body of the answer.
    func body(instance: String, traceID: String) -> JSONValue {
        JSONValue(members: [
            "type": .string("urn:touchstone:problem:\(code.rawValue)"),
            "title": .string(code.title),
            "status": .integer(Int64(code.status)),
            "detail": detail.map { .string($0) },
            "instance": .string(instance),
            "code": .string(code.rawValue),
            "traceId": .string(traceID),
            "retryAfter": retryAfter.map { .integer(Int64($0)) },
            "acr_values": stepUp?.acrValues.map { .string($0) },
            "max_age": stepUp.map { .integer(Int64($0.maxAge)) },
            "errors": faults.isEmpty
                ? nil
                : .array(
                    faults.map { ["pointer": .string($0.pointer), "detail": .string($0.detail)] }
                ),
        ])
    }

    /// `WWW-Authenticate`, where the status demands it.
    var challenge: String? {
        switch code {
        case .invalidToken: hadToken ? #"Bearer error="invalid_token""# : "Bearer"
        case .insufficientUserAuthentication:
            #"Bearer error="insufficient_user_authentication""#
                + (stepUp?.acrValues.map { #", acr_values="\#($0)""# } ?? "")
                + (stepUp.map { ", max_age=\($0.maxAge)" } ?? "")
        default: nil
        }
    }
}
