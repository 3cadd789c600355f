internal import KeychainModel

extension TouchstoneError {
    /// The error of this module for a failure of the daemon or of the connection to it.
    ///
    /// The most specific information decides: a known cause, then the driver's error name, then the authentication error,
    /// then the status.
    init(_ error: KeychainError) {
        let cause = error.cause ?? error.authentication?.cause
        let code = Self.code(of: error, cause)
        self.init(
            code,
            part: cause?.domain,
            cause: cause?.code ?? Self.number(of: error),
            nextStep: Self.nextStep(error.remedy, cause?.known),
            retryAfter: Self.wait(error.remedy),
            fallbackIndex: error.authentication?.fallback,
            details: cause?.detail.map { [$0] } ?? []
        )
    }

    /// The error of this module for an authentication failure.
    init(_ error: AuthenticationError) { self.init(KeychainError(error)) }

    private static func code(of error: KeychainError, _ cause: DriverCause?) -> Code {
        // A full or read-only disk can be the cause of many failing calls.
        if let code = cause.flatMap(Code.init(disk:)) { return code }
        if let known = cause?.known { return Code(known) }
        if let code = cause.flatMap(Code.init(driver:)) { return code }
        let reason = error.authentication.flatMap { Code(laError: $0.code.rawValue) }
        return reason ?? Code(osStatus: Int(error.status.rawValue)) ?? .serviceFailed
    }

    /// The LAError or OSStatus, for an error without a cause.
    private static func number(of error: KeychainError) -> String {
        if let reason = error.authentication { return "LAError \(reason.code.rawValue)" }
        return "OSStatus \(error.status.rawValue)"
    }

    private static func nextStep(_ remedy: Remedy?, _ known: KnownCause?) -> NextStep? {
        switch known {
        case .closed, .exhausted, .otherHardware, .missingHardware, .missingIndex, .rolledBack, .olderKeybag:
            return .recover
        case .prompterMissing: return .install
        case .invalidated, .deleted, .expired, .usedUp: return .setUpAgain
        // Neither the app nor its user can start the broker; the machine's administrator can.
        case .brokerAway: return .askForHelp
        case .programUnverified: return .retry
        default: break
        }
        return switch remedy {
        case .retry: .retry
        case .usePasscode: .usePasscode
        case .enrolFinger: .enrol
        case .wait: .wait
        case .setPasscode: .setPasscode
        case .unlock: .unlock
        case .recover: .recover
        case .provideTerminal: .askForHelp
        case .check, nil: nil
        }
    }

    private static func wait(_ remedy: Remedy?) -> Duration? {
        guard case .wait(let seconds) = remedy else { return nil }
        return .seconds(seconds)
    }
}

extension TouchstoneError.Code {
    /// The code for a known cause; every known cause has one.
    init(_ cause: KnownCause) {
        self =
            switch cause {
            case .invalidated: .invalidated
            case .deleted: .deleted
            case .notYetValid: .notYetValid
            case .expired: .expired
            case .usedUp: .usedUp
            case .noCurrentSet: .notEnrolled
            case .damaged, .olderKeybag, .rolledBack, .logDamaged, .setDamaged, .exportDamaged: .damaged
            case .owned, .notInExport: .notFound
            case .withoutKeyUsage, .placeRefused: .unsupported
            case .sandboxed, .otherGroup, .ownerAuthorizationSet, .daemonUnsafe, .foreignDaemon,
                .systemDirectory:
                .denied
            case .enrolmentChanged, .passcodeDue: .lockedOutUntilPasscode
            case .sensorTooWeak: .sensorTooWeak
            case .sensorUnsafe: .sensorUnsafe
            case .fingersOff: .biometryOff
            case .timeout: .timedOut
            case .tooManyPrompts, .promptRate, .guessRate, .callerSilenced, .tooManyConnections,
                .changeDelayed, .fingersDelayed:
                .throttled
            case .passcodeDelayed, .closed, .exhausted: .lockedOut
            case .suspended, .sessionInactive: .systemCancelled
            case .attemptsUnavailable, .prompterFailed, .exportParts, .brokerAway, .programUnverified,
                .filesReplaced, .unconfirmedChange:
                .serviceFailed
            case .weakPasscode: .refused
            case .prompterMissing, .inBackground, .noAgent, .undrawable: .noPromptPlace
            case .locked: .locked
            case .notSetUp: .passcodeNotSet
            case .alreadySetUp: .alreadyExists
            case .recoveryCode, .mistypedRecoveryCode: .notMatched
            case .storeFull: .storeFull
            case .newerFormat, .newerExport: .updateNeeded
            case .notAnExport: .typeMismatch
            case .otherHardware, .missingHardware, .missingIndex: .hardwareChanged
            case .silentHardware: .hardwareUnavailable
            case .chipLockout: .hardwareLockedOut
            case .noHome, .daemonMissing, .daemonNotRunning, .outsideTestKeychain, .systemSocketMissing:
                .serviceMissing
            case .daemonNotStarted, .systemDaemonSilent, .daemonDoesNotListen, .daemonSilent, .daemonRefused,
                .layoutHasNoVariables,
                .socketFailed, .connectFailed, .peerUnknown, .socketPlace, .runtimeDirectory, .connectionLost:
                .serviceFailed
            case .socketPathTooLong, .promptText, .resultTooLarge: .limitExceeded
            }
    }

    /// The code for a full or read-only disk, as reported by SQLite (result codes 13 and 8) or the system;
    /// nil for other causes.
    fileprivate init?(disk cause: DriverCause) {
        switch cause.domain {
        case "system" where ["ENOSPC", "EDQUOT"].contains(cause.code): self = .diskFull
        case "system" where cause.code == "EROFS": self = .readOnly
        // Extended codes have the result code in their low 8 bits.
        case "sqlite":
            switch Int(cause.code).map({ $0 & 0xFF }) {
            case 13: self = .diskFull
            case 8: self = .readOnly
            default: return nil
            }
        default: return nil
        }
    }

    /// The code for a driver's error name without a ``KnownCause``; nil if the rest of the error is more
    /// specific.
    init?(driver cause: DriverCause) {
        switch cause.domain {
        case "fprintd": self.init(fprintd: cause.code)
        case "prompt":
            self = cause.code == PromptError.Code.dismissed.rawValue ? .systemCancelled : .noPromptPlace
        case "tpm": self = .hardwareUnavailable
        case "system" where ["EACCES", "EPERM"].contains(cause.code): self = .denied
        default: return nil
        }
    }

    /// The code for an error of fprintd or a result of its verification.
    init?(fprintd word: String) {
        switch FingerprintError.Code(rawValue: word) {
        case .permissionDenied, .untrustedOwner: self = .denied
        case .alreadyInUse, .claimDevice, .internal, .unknownError, .noReply: self = .hardwareUnavailable
        case .noEnrolledPrints: self = .notEnrolled
        case .noSuchDevice: self = .noHardware
        case .disconnected: self = .disconnected
        case .serviceUnknown, .noBus: self = .serviceMissing
        case .ownerLost, .suspended, .cancelled: self = .systemCancelled
        // `verify-retry-scan` and similar results, once no further scan is attempted.
        case let code where code.rawValue.hasPrefix("verify-"): self = .notMatched
        default: return nil
        }
    }
}
