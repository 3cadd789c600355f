package import Foundation
package import KeychainModel

extension KeychainError {
    /// `errSecParam`, with a description of the fault.
    static func param(_ fault: String) -> KeychainError {
        KeychainError(.param, cause: DriverCause(domain: "query", code: fault))
    }
}

extension DriverCause {
    /// The cause as an `NSError`; its name is in `NSDebugDescription`.
    package var foundationError: NSError {
        NSError(
            domain: domain,
            code: 0,
            userInfo: [NSLocalizedDescriptionKey: code, "NSDebugDescription": code]
        )
    }
}

extension NSError {
    /// An `NSError` for an `OSStatus`: its message, the recovery suggestion, and the cause as underlying
    /// error.
    package convenience init(_ error: KeychainError) {
        let status = error.status.rawValue
        var userInfo: [String: Any] = [:]
        if let message = SecCopyErrorMessageString(status, nil) {
            userInfo[NSLocalizedDescriptionKey] = message as String
        }
        if let suggestion = error.remedy?.suggestion {
            userInfo[NSLocalizedRecoverySuggestionErrorKey] = suggestion
        }
        if let cause = error.cause {
            userInfo["NSDebugDescription"] = "\(cause.domain): \(cause.code)"
            // The key under which Apple's own errors about keys and queries have a description.
            if ["key", "query"].contains(cause.domain) { userInfo["NSDescription"] = cause.code }
        }
        if let authentication = error.authentication {
            userInfo[NSUnderlyingErrorKey] = NSError(authentication)
        } else if let cause = error.cause {
            userInfo[NSUnderlyingErrorKey] = cause.foundationError
        }
        self.init(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: userInfo)
    }

    /// The error of an authentication, in the domain of `LAError`.
    package convenience init(_ error: AuthenticationError) {
        var userInfo: [String: Any] = [NSLocalizedDescriptionKey: error.code.message]
        if let suggestion = error.remedy?.suggestion {
            userInfo[NSLocalizedRecoverySuggestionErrorKey] = suggestion
        }
        if let cause = error.cause {
            userInfo["NSDebugDescription"] = "\(cause.domain): \(cause.code)"
            userInfo[NSUnderlyingErrorKey] = cause.foundationError
        }
        self.init(domain: AuthenticationError.domain, code: error.code.rawValue, userInfo: userInfo)
    }
}

extension AuthenticationError {
    /// `LAErrorDomain`.
    package static let domain = "com.apple.LocalAuthentication"
}

extension AuthenticationError.Code {
    /// The message of the error code.
    package var message: String {
        switch self {
        case .authenticationFailed: "Authentication failed."
        case .userCancel: "Authentication canceled by user."
        case .userFallback: "Fallback authentication mechanism selected."
        case .systemCancel: "Authentication canceled by the system."
        case .passcodeNotSet: "Passcode not set."
        case .biometryNotAvailable: "Biometry is not available on this device."
        case .biometryNotEnrolled: "No finger is enrolled."
        case .biometryLockout: "Biometry is locked out."
        case .appCancel: "Authentication canceled by the application."
        case .invalidContext: "The context is invalid."
        case .companionNotAvailable: "No companion device is available."
        case AuthenticationError.Code(rawValue: -12): "No removable biometric accessory is paired."
        case .biometryDisconnected: "The biometric accessory is not connected."
        case .invalidParameter: "A parameter is not valid."
        case .notInteractive: "User interaction is required."
        default: "Authentication error \(rawValue)."
        }
    }
}

extension Remedy {
    /// The recovery suggestion for the user.
    package var suggestion: String {
        switch self {
        case .retry: "Try again."
        case .usePasscode: "Enter the passcode."
        case .enrolFinger: "Enroll a finger."
        case .wait(let seconds): "Try again in \(seconds) seconds."
        case .setPasscode: "Set a passcode: run `touchstone setup`."
        case .unlock: "Unlock the keychain: run `touchstone unlock`."
        case .recover: "Open the keychain with the recovery code: run `touchstone recover`."
        case .provideTerminal: "Run the program from a terminal or a desktop session."
        case .check: "Run `touchstone doctor`."
        }
    }
}
