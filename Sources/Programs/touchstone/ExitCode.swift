import ArgumentParser
import KeychainModel

/// The exit statuses, documented in `touchstone --help` and touchstone(1), so that scripts can rely on them.
///
/// 0 is success and 64 (`EX_USAGE` of sysexits.h) wrong usage, as ArgumentParser has them.
extension ExitCode {
    /// Something else failed; the error line says what.
    static let failed = ExitCode(1)
    /// The secret does not exist, or was invalidated.
    static let notFound = ExitCode(3)
    /// The user, the program or the system cancelled the request.
    static let cancelled = ExitCode(4)
    /// The finger or passcode did not match.
    static let authenticationFailed = ExitCode(5)
    /// Too many failures: needs the passcode, time, or the recovery code.
    static let lockedOut = ExitCode(6)
    /// There is no sensor, no keychain yet, no daemon, no writable disk, or not the TPM that the keychain is sealed to.
    static let notAvailable = ExitCode(7)
    /// A prompt is needed and cannot be shown.
    static let notInteractive = ExitCode(8)
    /// Stored bytes were changed.
    static let damaged = ExitCode(9)
    /// A secret of this name, or the keychain, exists already.
    static let existsAlready = ExitCode(10)
    /// `run`: the command was found and cannot be executed, as in a shell.
    static let notExecutable = ExitCode(126)
    /// `run`: the command was not found, as in a shell.
    static let commandNotFound = ExitCode(127)

    /// The status for an error of the keychain.
    init(for error: KeychainError) {
        self = Self.of(error)
    }

    private static func of(_ error: KeychainError) -> ExitCode {
        if error.cause == .closed || error.cause == .exhausted { return .lockedOut }
        if error.cause == .notSetUp { return .notAvailable }
        if error.cause == .tooManyConnections { return .notAvailable }
        if error.cause == .alreadySetUp { return .existsAlready }
        if error.cause == .damaged || error.cause == .exportDamaged || error.cause == .notAnExport {
            return .damaged
        }
        if error.cause?.isFullDisk == true || error.cause?.known == .storeFull { return .failed }
        if error.cause?.isUnwritableDisk == true { return .notAvailable }
        if case .wait? = error.remedy { return .lockedOut }
        if error.cause?.domain == DriverCause.otherHardware.domain { return .notAvailable }
        switch error.status {
        case .itemNotFound: return .notFound
        case .duplicateItem: return .existsAlready
        case .userCanceled: return .cancelled
        case .decode: return .damaged
        case .notAvailable: return .notAvailable
        case .internalComponent: return .failed
        case .interactionNotAllowed, .interactionRequired: return .notInteractive
        default: break
        }
        guard let code = error.authentication?.code else {
            return error.status == .authFailed ? .authenticationFailed : .failed
        }
        switch code {
        case .userCancel, .appCancel, .systemCancel, .userFallback: return .cancelled
        case .biometryLockout: return .lockedOut
        case .biometryNotAvailable, .biometryNotEnrolled, .biometryDisconnected, .passcodeNotSet,
            .companionNotAvailable:
            return .notAvailable
        case .notInteractive: return .notInteractive
        case .authenticationFailed, .invalidContext: return .authenticationFailed
        default: return .failed
        }
    }
}
