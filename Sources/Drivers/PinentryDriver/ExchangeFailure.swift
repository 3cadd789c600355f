import KeychainModel

/// Why a conversation with a pinentry program ended early.
enum ExchangeFailure: Error, Equatable {
    /// The task was cancelled.
    case cancelled
    /// The deadline passed.
    case timedOut
    /// The terminal hung up.
    case terminalGone
    /// The client went to the background, so another process reads from the terminal.
    case inBackground
    /// The program closed its end.
    case closed
    /// The program sent something invalid; never contains what it sent.
    case malformed(String)
    /// The program refused a command.
    case refused(PinentryCode, command: String)
    /// poll(2), read(2) or write(2) failed.
    case system(errno: Int32)
    /// The program draws only on terminals, and there is none.
    case needsTerminal
    /// The program found no session bus for the display and fell back to a terminal, and there is none.
    case needsSessionBus

    /// The error for the caller of the prompter.
    var promptError: PromptError {
        switch self {
        case .cancelled:
            PromptError(.dismissed)
        case .timedOut:
            PromptError(.prompterFailed, detail: "pinentry did not answer in time")
        case .terminalGone:
            PromptError(.notInteractive, detail: "the terminal went away")
        case .inBackground:
            PromptError(.inBackground, detail: "the client went to the background")
        case .closed:
            PromptError(.prompterFailed, detail: "pinentry ended without an answer")
        case .malformed(let what):
            PromptError(.prompterFailed, detail: "pinentry sent \(what)")
        case .refused(let code, let command):
            PromptError(
                code.meaning.promptCode,
                detail: "pinentry refused \(command) with error \(code.rawValue)"
            )
        case .system(let errno):
            PromptError(.prompterFailed, detail: "talking to pinentry: \(SystemError.name(of: errno))")
        case .needsTerminal:
            PromptError(.notInteractive, detail: "this pinentry draws on terminals only")
        case .needsSessionBus:
            PromptError(
                .notInteractive,
                detail:
                    "this pinentry needs the session's bus for the display, and DBUS_SESSION_BUS_ADDRESS is not set"
            )
        }
    }
}

extension PinentryCode.Meaning {
    /// The code of a prompt that ended with a refusal of this meaning.
    fileprivate var promptCode: PromptError.Code {
        switch self {
        case .notInteractive: .notInteractive
        case .undrawable: .undrawable
        case .cancelled, .timedOut, .failed: .prompterFailed
        }
    }
}
