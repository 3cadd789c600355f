/// The code of an `ERR` line: libgpg-error's source in the upper byte, its code in the lower sixteen bits.
///
/// The text after it is not read: a program could put the typed secret there.
struct PinentryCode: Hashable {
    /// The number as sent.
    let rawValue: UInt32

    /// Accepts any number.
    init(_ rawValue: UInt32) { self.rawValue = rawValue }

    /// `GPG_ERR_CANCELED`: the user pressed cancel or closed the prompt.
    static let cancelled = PinentryCode(83_886_179)
    /// `GPG_ERR_FULLY_CANCELED`: the same, for everything that was to follow.
    static let fullyCancelled = PinentryCode(83_886_278)
    /// `GPG_ERR_NOT_CONFIRMED`: the user pressed the negative button.
    static let notConfirmed = PinentryCode(83_886_194)
    /// `GPG_ERR_TIMEOUT`: the user did nothing.
    static let timeout = PinentryCode(83_886_142)
    /// `ENOTTY`: pinentry-curses has no terminal.
    static let noTerminal = PinentryCode(83_918_950)
    /// `ENXIO`: the terminal cannot be opened.
    static let noSuchTerminal = PinentryCode(83_918_992)
    /// `GPG_ERR_LOCALE_PROBLEM`: the text has characters that the terminal's encoding does not have.
    static let localeProblem = PinentryCode(83_886_246)
    /// `GPG_ERR_WINDOW_TOO_SMALL`: the prompt does not fit on the terminal, or curses does not know its type.
    static let windowTooSmall = PinentryCode(83_886_381)

    /// What a response with this code means to the caller.
    enum Meaning { case cancelled, timedOut, notInteractive, undrawable, failed }

    /// Whether the user pressed the button between the affirmative one and cancel.
    var isNegative: Bool { code == Self.notConfirmed.code }

    /// Compares the code alone: programs send different sources.
    var meaning: Meaning {
        switch rawValue & 0xFFFF {
        case Self.cancelled.code, Self.fullyCancelled.code, Self.notConfirmed.code: .cancelled
        case Self.timeout.code: .timedOut
        case Self.noTerminal.code, Self.noSuchTerminal.code: .notInteractive
        case Self.localeProblem.code, Self.windowTooSmall.code: .undrawable
        default: .failed
        }
    }

    private var code: UInt32 { rawValue & 0xFFFF }
}
