public import Foundation

/// `LAErrorDomain`.
public let LAErrorDomain = "com.apple.LocalAuthentication"
/// ``LAErrorDomain`` under its name in `LAPublicDefines.h`.
public let kLAErrorDomain = LAErrorDomain

/// Why an authentication failed.
///
/// It wraps an `NSError`, so code that catches either type works:
///
/// ```swift
/// do {
///     try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "open the safe")
/// } catch LAError.userCancel {
///     return
/// } catch let error as LAError where error.code == .biometryLockout {
///     // ask for the passcode
/// }
/// ```
public struct LAError: CustomNSError, LocalizedError, Hashable, @unchecked Sendable {  // NSError is immutable
    /// The wrapped error: domain, code, texts, and the cause under `NSUnderlyingErrorKey`.
    public let _nsError: NSError

    /// Wraps an error of ``errorDomain``.
    public init(_nsError error: NSError) {
        precondition(error.domain == LAErrorDomain, "an error of another domain")
        _nsError = error
    }

    /// Makes an error, for apps and tests.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        _nsError = NSError(domain: LAErrorDomain, code: code.rawValue, userInfo: userInfo)
    }

    /// The reason; ``Code/authenticationFailed`` for a number unknown to this version, which ``errorCode``
    /// still returns.
    public var code: Code { Code(rawValue: _nsError.code) ?? .authenticationFailed }
    /// ``LAErrorDomain``.
    public static var errorDomain: String { LAErrorDomain }
    /// The number of the reason.
    public var errorCode: Int { _nsError.code }
    /// The localized texts and the cause.
    public var errorUserInfo: [String: Any] { userInfo }
    /// The localized texts and the cause.
    public var userInfo: [String: Any] { _nsError.userInfo }
    /// The localized description of the reason.
    public var localizedDescription: String { _nsError.localizedDescription }
    /// The localized description of the reason.
    public var errorDescription: String? { _nsError.localizedDescription }
    /// What the user can do.
    public var recoverySuggestion: String? { _nsError.localizedRecoverySuggestion }

    /// Compares domain, code and texts.
    public static func == (lhs: LAError, rhs: LAError) -> Bool { lhs._nsError.isEqual(rhs._nsError) }
    /// Hashes the code.
    public func hash(into hasher: inout Hasher) { hasher.combine(_nsError.code) }
}

extension LAError: _ObjectiveCBridgeable {
    /// The wrapped `NSError`.
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    /// Wraps an `NSError`, which must be of this domain.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) {
        result = LAError(_nsError: source)
    }

    /// Wraps an `NSError` if it is of this domain.
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) -> Bool {
        guard source.domain == LAErrorDomain else { return false }
        result = LAError(_nsError: source)
        return true
    }

    /// Wraps an `NSError`, which must be of this domain.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> LAError {
        guard let source else { preconditionFailure("no error") }
        return LAError(_nsError: source)
    }
}
