import KeychainModel

extension AuthenticationError {
    /// The error of an evaluation that needs a finger when the sensor fails.
    init(_ error: FingerprintError) {
        switch error.code {
        case .noEnrolledPrints: self.init(.biometryNotEnrolled, cause: error.cause, remedy: .enrolFinger)
        case .disconnected: self.init(.biometryDisconnected, cause: error.cause, remedy: .check)
        case .ownerLost, .suspended, .cancelled:
            self.init(.systemCancel, cause: error.cause, remedy: .retry)
        default: self.init(.biometryNotAvailable, cause: error.cause, remedy: .check)
        }
    }

    /// The error of an evaluation whose prompt is missing or failed.
    init(_ error: PromptError) {
        let cause = DriverCause(domain: "prompt", code: error.code.rawValue)
        switch error.code {
        case .notInteractive, .inBackground, .noAgent, .undrawable:
            self.init(.notInteractive, cause: cause, remedy: .provideTerminal)
        case .prompterMissing: self.init(.notInteractive, cause: cause, remedy: .check)
        case .prompterFailed: self.init(.systemCancel, cause: cause, remedy: .check)
        case .dismissed: self.init(.systemCancel, cause: cause, remedy: .retry)
        }
    }

    /// The error when a count cannot be read or saved: no attempt is allowed.
    init(unsaved error: KeychainError) {
        self.init(.systemCancel, cause: error.cause ?? .attemptsUnavailable, remedy: .check)
    }

    /// The error of an evaluation when the keybag fails.
    init(keychain error: KeychainError) {
        if let authentication = error.authentication {
            self = authentication
            return
        }
        switch error.status {
        case .notAvailable where error.cause == nil || error.cause == .notSetUp:
            self.init(.passcodeNotSet, cause: .notSetUp, remedy: .setPasscode)
        case .param: self.init(.invalidParameter, cause: error.cause, remedy: error.remedy)
        case .duplicateItem:
            self.init(.invalidParameter, cause: error.cause ?? .alreadySetUp)
        case .decode:
            self.init(.systemCancel, cause: error.cause ?? .damaged, remedy: error.remedy ?? .check)
        default:
            let cause = error.cause ?? DriverCause(domain: "keybag", code: String(error.status.rawValue))
            self.init(.systemCancel, cause: cause, remedy: error.remedy ?? .check)
        }
    }

    /// The kind of security event for an end without success.
    var auditKind: AuditEvent.Kind {
        switch code {
        case .userCancel, .userFallback, .appCancel, .systemCancel: .authenticationCancelled
        default: .authenticationFailed
        }
    }

    /// The code and the driver's cause; no text of a client.
    var auditDetail: String {
        cause.map { "\(code.rawValue) \($0.domain) \($0.code)" } ?? "\(code.rawValue)"
    }
}
