public import Foundation

/// `LAErrorDomain`.
public let LAErrorDomain = "com.apple.LocalAuthentication"
/// ``LAErrorDomain`` by the name of `LAPublicDefines.h`.
public let kLAErrorDomain = LAErrorDomain

/// Why an authentication ended without success.
///
/// It is an `NSError` underneath, so that every spelling for errors of either kind works:
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
    /// The error as Foundation knows it: domain, number, texts, and the cause under `NSUnderlyingErrorKey`.
    public let _nsError: NSError

    /// Wraps an error of ``errorDomain``.
    public init(_nsError error: NSError) {
        precondition(error.domain == LAErrorDomain, "an error of another domain")
        _nsError = error
    }

    /// Makes an error, as apps and tests do.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        _nsError = NSError(domain: LAErrorDomain, code: code.rawValue, userInfo: userInfo)
    }

    /// The reason; ``Code/authenticationFailed`` for a number that this version does not know, which
    /// ``errorCode`` still tells.
    public var code: Code { Code(rawValue: _nsError.code) ?? .authenticationFailed }
    /// ``LAErrorDomain``.
    public static var errorDomain: String { LAErrorDomain }
    /// The number of the reason.
    public var errorCode: Int { _nsError.code }
    /// Texts and the cause.
    public var errorUserInfo: [String: Any] { userInfo }
    /// Texts and the cause.
    public var userInfo: [String: Any] { _nsError.userInfo }
    /// The reason in words.
    public var localizedDescription: String { _nsError.localizedDescription }
    /// The reason in words.
    public var errorDescription: String? { _nsError.localizedDescription }
    /// What the user can do.
    public var recoverySuggestion: String? { _nsError.localizedRecoverySuggestion }

    /// Compares domain, number and texts.
    public static func == (lhs: LAError, rhs: LAError) -> Bool { lhs._nsError.isEqual(rhs._nsError) }
    /// Hashes the number.
    public func hash(into hasher: inout Hasher) { hasher.combine(_nsError.code) }
}

extension LAError: _ObjectiveCBridgeable {
    /// The error as an object.
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    /// Takes an object that must be an error of this domain.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) {
        result = LAError(_nsError: source)
    }

    /// Takes an object if it is an error of this domain.
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) -> Bool {
        guard source.domain == LAErrorDomain else { return false }
        result = LAError(_nsError: source)
        return true
    }

    /// Takes an object that must be an error of this domain.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> LAError {
        guard let source else { preconditionFailure("no error") }
        return LAError(_nsError: source)
    }
}
