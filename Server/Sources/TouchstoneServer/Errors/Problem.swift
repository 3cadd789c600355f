internal import WebAuthnModel

/// An error for the client: `application/problem+json` (RFC 9457), with a code.
public struct Problem: Error, Sendable, Equatable {
    /// The code; also the last part of `type`.
    public let code: Code
    /// A message for developers of clients; never contains data of other requests.
    public var detail: String?
    /// The invalid members of the body.
    public var faults: [Fault] = []
    /// Seconds after which to retry.
    public var retryAfter: Int?
    /// The required step-up (RFC 9470).
    public var stepUp: StepUp?
    /// The scopes that an access token needs, separated by blanks (RFC 6750, section 3).
    var scope: String?
    /// The rule that a new password breaks.
    var rule: PasswordRule?
    /// The number of characters in ``rule``.
    var limit: Int?
    /// The reason for the audit record; not for the client.
    public var reason: String?
    /// Whether the request had an access token: determines `WWW-Authenticate` (RFC 6750, section 3.1).
    var hadToken = false
    /// Whether a proof was needed in addition to an access token: its errors are then of status 401, with a challenge (RFC 9449,
    /// sections 7.1 and 9).
    var isOfResource = false

    /// An invalid member of a body.
    public struct Fault: Sendable, Equatable {
        /// A JSON pointer (RFC 6901).
        public let pointer: String
        /// The requirement for the member.
        public let detail: String
    }

    /// The requirements of a step-up.
    public struct StepUp: Sendable, Equatable {
        /// Authentication contexts, one of which suffices.
        public var acrValues: String?
        /// The maximum number of seconds since the authentication.
        public let maxAge: Int?
    }

    /// The error codes.
    public enum Code: String, Sendable, CaseIterable {
        /// Malformed JSON, or an invalid member.
        case invalidRequest = "invalid_request"
        /// An invalid DPoP proof.
        case invalidDPoPProof = "invalid_dpop_proof"
        /// A DPoP proof without a current nonce; the response has one in `DPoP-Nonce`.
        case useDPoPNonce = "use_dpop_nonce"
        /// Any failed login: only the audit record has the reason.
        case authenticationFailed = "authentication_failed"
        /// No access token, or an invalid or expired one.
        case invalidToken = "invalid_token"
        /// Not a resource that the server issues tokens for (RFC 8707, section 2).
        case invalidTarget = "invalid_target"
        /// A scope that the resource does not have (RFC 6749, section 5.2).
        case invalidScope = "invalid_scope"
        /// The session is not fresh or not strong enough (RFC 9470).
        case insufficientUserAuthentication = "insufficient_user_authentication"
        /// The access token does not have a scope that is needed (RFC 6750, section 3.1).
        case insufficientScope = "insufficient_scope"
        /// The authentication is not worth what the operation demands (settings `require-assurance-…`).
        case insufficientAssurance = "insufficient_assurance"
        /// The credential is suspended.
        case credentialSuspended = "credential_suspended"
        /// The key of the device signs in no more: the time of `device-key-lifetime` is over.
        case credentialExpired = "credential_expired"
        /// An administrator locked the account.
        case accountLockedByAdmin = "account_locked_by_admin"
        /// Authenticated, but not allowed.
        case forbidden
        /// The session is only to set up a credential, or to change the password.
        case sessionLimited = "session_limited"
        /// The password must be changed before it signs in, and not in this form.
        case passwordChangeRequired = "password_change_required"
        /// No such object of the caller.
        case notFound = "not_found"
        /// The path exists with other methods.
        case methodNotAllowed = "method_not_allowed"
        /// The credential's id is already registered.
        case credentialExists = "credential_exists"
        /// The transaction was decided or has expired.
        case transactionNotPending = "transaction_not_pending"
        /// The username is taken.
        case usernameTaken = "username_taken"
        /// An unknown, used or expired ceremony.
        case ceremonyExpired = "ceremony_expired"
        /// A link that is unknown, used, replaced, revoked or expired.
        case linkInvalid = "link_invalid"
        /// More than 64 KiB.
        case contentTooLarge = "content_too_large"
        /// Not the content type of the endpoint.
        case unsupportedMediaType = "unsupported_media_type"
        /// Another expectation than `100-continue`.
        case expectationFailed = "expectation_failed"
        /// The registration is invalid.
        case attestationRejected = "attestation_rejected"
        /// The attestation does not chain to a trust anchor.
        case attestationUntrusted = "attestation_untrusted"
        /// The chip's maker revoked its certificate.
        case attestationRevoked = "attestation_revoked"
        /// The machine was started with something that is not on the list, or does not say with what.
        case bootStateUntrusted = "boot_state_untrusted"
        /// The key's policy is not an accepted one.
        case keyPolicyRejected = "key_policy_rejected"
        /// A password that is too short, too long or too common.
        case weakPassword = "weak_password"
        /// Too many attempts: retry later.
        case tooManyAttempts = "too_many_attempts"
        /// A defect of the server; its log has the trace id.
        case internalError = "internal_error"
        /// Passwords queue up, or the database is unavailable: retry.
        case overloaded

        /// The status code.
        public var status: Int {
            switch self {
            case .invalidRequest, .invalidDPoPProof, .useDPoPNonce, .invalidTarget, .invalidScope: 400
            case .authenticationFailed, .invalidToken, .insufficientUserAuthentication: 401
            case .insufficientScope, .insufficientAssurance, .credentialSuspended, .credentialExpired,
                .accountLockedByAdmin, .forbidden, .sessionLimited, .passwordChangeRequired:
                403
            case .notFound: 404
            case .methodNotAllowed: 405
            case .credentialExists, .transactionNotPending, .usernameTaken: 409
            case .ceremonyExpired, .linkInvalid: 410
            case .contentTooLarge: 413
            case .unsupportedMediaType: 415
            case .expectationFailed: 417
            case .attestationRejected, .attestationUntrusted, .attestationRevoked, .bootStateUntrusted,
                .keyPolicyRejected, .weakPassword:
                422
            case .tooManyAttempts: 429
            case .internalError: 500
            case .overloaded: 503
            }
        }

        /// A summary, the same for every occurrence (RFC 9457, section 3.1.4).
        var title: String {
            switch self {
            case .invalidRequest: "The request is malformed"
            case .invalidDPoPProof: "The DPoP proof does not hold"
            case .useDPoPNonce: "The DPoP proof needs the server's nonce"
            case .authenticationFailed: "The login failed"
            case .invalidToken: "The access token is missing or not valid"
            case .invalidTarget: "The resource is not known"
            case .invalidScope: "The scope is not known"
            case .insufficientUserAuthentication: "The user has to authenticate again"
            case .insufficientScope: "The access token does not have the scope"
            case .insufficientAssurance: "The authentication is not worth enough"
            case .credentialSuspended: "The credential is suspended"
            case .credentialExpired: "The key of the device has to be replaced"
            case .accountLockedByAdmin: "The account is locked"
            case .forbidden: "Not allowed"
            case .sessionLimited: "The session is for one thing only"
            case .passwordChangeRequired: "The password has to be changed"
            case .notFound: "Not found"
            case .methodNotAllowed: "The method is not allowed here"
            case .credentialExists: "The credential is registered"
            case .transactionNotPending: "The transaction is not pending"
            case .usernameTaken: "The name is taken"
            case .ceremonyExpired: "The ceremony is unknown, used or too old"
            case .linkInvalid: "The link is unknown, used, replaced or too old"
            case .contentTooLarge: "The body is too large"
            case .unsupportedMediaType: "The content type is not supported"
            case .expectationFailed: "The expectation cannot be met"
            case .attestationRejected: "The registration was rejected"
            case .attestationUntrusted: "The attestation is not trusted"
            case .attestationRevoked: "The chip's certificate is revoked"
            case .bootStateUntrusted: "The boot state is not trusted"
            case .keyPolicyRejected: "The key's policy was rejected"
            case .weakPassword: "The password is too weak"
            case .tooManyAttempts: "Too many attempts"
            case .internalError: "Something is wrong with the server"
            case .overloaded: "The server is overloaded"
            }
        }
    }

    /// The status code of the response.
    var status: Int { isOfResource ? 401 : code.status }

    /// Creates an error.
    public init(_ code: Code, _ detail: String? = nil) {
        self.code = code
        self.detail = detail
    }

    /// One member of the body is wrong.
    static func invalidMember(_ name: String, _ detail: String) -> Problem {
        var problem = Problem(.invalidRequest, "members of the body are wrong")
        problem.faults = [Fault(pointer: "/\(name)", detail: detail)]
        return problem
    }

    /// A new password that breaks a rule.
    static func weakPassword(_ rule: PasswordRule, _ detail: String, limit: Int? = nil) -> Problem {
        var problem = Problem(.weakPassword, detail)
        problem.rule = rule
        problem.limit = limit
        return problem
    }

    /// A failed login; `reason` is for the audit record.
    static func authenticationFailed(_ reason: String) -> Problem {
        var problem = Problem(.authenticationFailed)
        problem.reason = reason
        return problem
    }

    /// The resource's tokens are bound to the session's key, and the session has none.
    static var noKey: Problem {
        Problem(.invalidDPoPProof, "tokens for the resource are bound to a key: sign in with a proof")
    }

    /// The client has to wait before it retries.
    static func tooManyAttempts(retryAfter: Int) -> Problem {
        var problem = Problem(.tooManyAttempts)
        problem.retryAfter = max(retryAfter, 1)
        return problem
    }

    /// The client can retry soon.
    static func overloaded(_ reason: String, retryAfter: Int = 1) -> Problem {
        var problem = Problem(.overloaded)
        problem.retryAfter = max(retryAfter, 1)
        problem.reason = reason
        return problem
    }

    /// The body of the response.
    func body(instance: String, traceID: String) -> JSONValue {
        JSONValue(members: [
            "type": .string("urn:touchstone:problem:\(code.rawValue)"),
            "title": .string(code.title),
            "status": .integer(Int64(status)),
            "detail": detail.map { .string($0) },
            "instance": .string(instance),
            "code": .string(code.rawValue),
            "traceId": .string(traceID),
            "retryAfter": retryAfter.map { .integer(Int64($0)) },
            "rule": rule.map { .string($0.rawValue) },
            "limit": limit.map { .integer(Int64($0)) },
            "acr_values": stepUp?.acrValues.map { .string($0) },
            "max_age": stepUp?.maxAge.map { .integer(Int64($0)) },
            "errors": faults.isEmpty
                ? nil
                : .array(
                    faults.map { ["pointer": .string($0.pointer), "detail": .string($0.detail)] }
                ),
        ])
    }

    /// `WWW-Authenticate`, if the status requires it.
    var challenge: String? {
        switch code {
        case .invalidToken: hadToken ? #"Bearer error="invalid_token""# : "Bearer"
        case .insufficientUserAuthentication:
            #"Bearer error="insufficient_user_authentication""#
                + (stepUp?.acrValues.map { #", acr_values="\#($0)""# } ?? "")
                + (stepUp?.maxAge.map { ", max_age=\($0)" } ?? "")
        case .insufficientScope:
            #"Bearer error="insufficient_scope""# + (scope.map { #", scope="\#($0)""# } ?? "")
        case .invalidDPoPProof, .useDPoPNonce:
            isOfResource ? #"DPoP error="\#(code.rawValue)", algs="ES256""# : nil
        default: nil
        }
    }
}
