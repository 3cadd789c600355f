import ArgumentParser
import KeychainClient
import KeychainModel

/// Keychain errors in words, with remedies.
enum ErrorText {
    /// Describes an error, and the secret it is about, if any.
    static func describe(_ error: KeychainError, name: ItemName? = nil) -> CommandError {
        let (message, hint) =
            error.cause.flatMap { CauseText.lines($0, name) } ?? byStatus(error, name) ?? byAuthentication(
                error
            ) ?? unknown(error)
        return CommandError(
            message,
            hint: hint ?? self.hint(for: error.remedy),
            exitCode: ExitCode(for: error)
        )
    }

    /// The error line and, if there is a remedy besides the error's own, the hint line.
    typealias Lines = (message: String, hint: String?)

    private static func byStatus(_ error: KeychainError, _ name: ItemName?) -> Lines? {
        switch error.status {
        case .itemNotFound:
            return (
                name.map { "there is no secret named '\($0.text)'" } ?? "there is no such secret",
                "touchstone list"
            )
        case .duplicateItem:
            guard let name else { return ("there is a keychain already", "touchstone status") }
            return (
                "there is a secret named '\(name.text)' already", "use --replace to replace it"
            )
        case .userCanceled: return ("cancelled", nil)
        case .decode: return ("the stored data is damaged", "touchstone doctor")
        case .dataTooLarge:
            return ("the secret is too large", "at most \(ItemLimits.longestData) bytes fit")
        case .diskFull: return ("the disk is full; nothing was changed", nil)
        case .readOnly, .io: return ("the store cannot be written\(detail(error))", "touchstone doctor")
        case .allocate:
            return (
                "there is not enough locked memory for secrets\(detail(error))",
                "raise the limit (ulimit -l): LimitMEMLOCK= in systemd, or memlock in /etc/security/limits.conf"
            )
        case .notAvailable: return ("the keychain is not available\(detail(error))", nil)
        default: return nil
        }
    }

    private static func byAuthentication(_ error: KeychainError) -> Lines? {
        switch error.authentication?.code {
        case .authenticationFailed?: return ("authentication failed", nil)
        case .userCancel?: return ("cancelled", nil)
        case .userFallback?: return ("the fallback button was chosen", nil)
        case .appCancel?: return ("cancelled", nil)
        case .systemCancel?: return ("the prompt was ended by the system\(detail(error))", nil)
        case .passcodeNotSet?: return ("there is no passcode yet", "touchstone setup")
        case .biometryNotAvailable?: return ("no fingerprint sensor can be used\(detail(error))", nil)
        case .biometryNotEnrolled?: return ("no finger is enrolled", "fprintd-enroll")
        case .biometryLockout?:
            return ("fingers are not accepted until the passcode is entered", "touchstone unlock")
        case .biometryDisconnected?: return ("the fingerprint sensor was disconnected", nil)
        case .companionNotAvailable?:
            return ("this needs a companion device, and there is none on Linux", nil)
        case .notInteractive?:
            guard PromptOrigin.currentDisplay == nil else {
                return (
                    "a prompt is needed, and cannot be shown on this display",
                    "touchstone doctor says why; or run it from a terminal"
                )
            }
            guard let fault = PlaceFault.current() else {
                return ("a prompt is needed, and there is no terminal and no display to show it", nil)
            }
            return ("a prompt is needed, and \(fault.text)", fault.remedy)
        case .invalidParameter?: return ("the daemon refused a parameter\(detail(error))", nil)
        default: return error.status == .authFailed ? ("authentication failed\(detail(error))", nil) : nil
        }
    }

    private static func unknown(_ error: KeychainError) -> Lines {
        switch error.status {
        case .interactionNotAllowed, .interactionRequired:
            return (
                "a prompt is needed and cannot be shown here", "run it from a terminal or a desktop session"
            )
        case .missingEntitlement: return ("this program may not use that access group", nil)
        case .internalComponent: return ("a part of the keychain failed\(detail(error))", "touchstone doctor")
        default: return ("the keychain reported \(error.status.rawValue)\(detail(error))", nil)
        }
    }

    private static func detail(_ error: KeychainError) -> String {
        error.cause.map { " (\($0.domain): \($0.code))" } ?? ""
    }

    private static func hint(for remedy: Remedy?) -> String? {
        switch remedy {
        case nil: nil
        case .retry: "try again"
        case .usePasscode: "use the passcode: touchstone unlock"
        case .enrolFinger: "enrol a finger: fprintd-enroll"
        case .wait(let seconds): "wait \(DateText.duration(seconds: seconds)), then try again"
        case .setPasscode: "touchstone setup"
        case .unlock: "touchstone unlock"
        case .recover: "touchstone recover"
        case .provideTerminal: "run it from a terminal or a desktop session"
        case .check: "touchstone doctor"
        }
    }
}
