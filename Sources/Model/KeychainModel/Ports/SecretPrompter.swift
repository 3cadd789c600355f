public import SecretMemory

/// Draws one box and brings back what the person did.
///
/// ```swift
/// let answer = try await prompter.ask(prompt, at: origin) { armTheSensor() }
/// ```
public protocol SecretPrompter: Sendable {
    /// Looks whether a box could be shown for a request from there.
    ///
    /// - Returns: the channels that it could be on; empty where none can be told.
    /// - Throws: ``PromptError`` `notInteractive` without terminal and display, `prompterMissing` without a
    ///   program that draws.
    @discardableResult
    func checkCanPrompt(at origin: PromptOrigin) async throws(PromptError) -> Set<PromptChannel>

    /// Shows a box and waits for its end.
    ///
    /// - Parameters:
    ///   - prompt: what the box says.
    ///   - origin: where it goes.
    ///   - whenShown: called at once when the box was put up, with what looks up the channel it is on; nil where that
    ///     cannot be told. The look may take a while.
    /// - Returns: what the person did.
    /// - Throws: ``PromptError``; `dismissed` when the task was cancelled, which takes the box away.
    func ask(
        _ prompt: Prompt,
        at origin: PromptOrigin,
        whenShown: @escaping @Sendable (() -> PromptChannel?) -> Void
    ) async throws(PromptError) -> PromptAnswer

    /// Shows a secret once, after the prompt's text, until the person confirms having noted it.
    func show(
        _ secret: borrowing SecretBytes,
        in prompt: Prompt,
        at origin: PromptOrigin
    ) async throws(PromptError) -> PromptAnswer

    /// A prompter for a box that is likely to come: it begins what can be done before it is known what the box says.
    ///
    /// Letting go of it ends what was begun and not used.
    func prepared(at origin: PromptOrigin) -> any SecretPrompter

    /// Says on the terminal of a request that it waits for a prompt elsewhere.
    ///
    /// - Returns: takes the line away again; nil where nothing was said, as for a request from the same terminal.
    func showWait(at origin: PromptOrigin, for other: PromptOrigin) -> (@Sendable () -> Void)?
}

extension SecretPrompter {
    /// Itself: nothing can be begun.
    public func prepared(at origin: PromptOrigin) -> any SecretPrompter { self }

    /// Nothing: there is nowhere to say it.
    public func showWait(at origin: PromptOrigin, for other: PromptOrigin) -> (@Sendable () -> Void)? { nil }
}

/// A box.
public struct Prompt: Sendable, Equatable {
    /// What the person is asked to do.
    public enum Input: Sendable, Equatable {
        /// Type a secret.
        case secret
        /// Type a new secret twice.
        case newSecret
        /// Press a button: the box has no field.
        case confirmation
        /// Touch the sensor: the box has no field, only cancel and, with a title, the fallback button.
        case touch
        /// Touch the sensor or type the passcode.
        case touchOrSecret
    }

    /// What to do.
    public var input: Input
    /// Who asks, from the socket's peer; never from the message.
    public var requester: String
    /// How many other requests get the outcome of this box too.
    public var othersWaiting = 0
    /// The app's reason: text only, shown as the app's words.
    public var reason: String
    /// What the box says first, our words: "Unlock the keychain".
    public var heading: String
    /// The label of the field.
    public var fieldLabel: String
    /// What went wrong the time before: "No match. 4 tries left."
    public var error: String?
    /// Judges a new secret while it is typed, or before it is asked for again; nil takes any.
    public var judge: NewSecretJudge?
    /// The title of the cancel button; nil for the usual one.
    public var cancelTitle: String?
    /// The title of the fallback button; nil for the usual one, empty for none.
    public var fallbackTitle: String?
    /// After this time the box is taken away.
    public var timeout: Duration

    /// Describes a box.
    public init(
        _ input: Input,
        requester: String,
        reason: String = "",
        heading: String,
        fieldLabel: String = "Passcode:",
        error: String? = nil,
        cancelTitle: String? = nil,
        fallbackTitle: String? = nil,
        timeout: Duration = .seconds(120)
    ) {
        self.input = input
        self.requester = requester
        self.reason = reason
        self.heading = heading
        self.fieldLabel = fieldLabel
        self.error = error
        self.cancelTitle = cancelTitle
        self.fallbackTitle = fallbackTitle
        self.timeout = timeout
    }
}

/// Where a request came from: the place to put its box.
///
/// Sent by the client, checked against its uid.
public struct PromptOrigin: Sendable, Hashable {
    /// `/dev/pts/N` of the client's terminal.
    public var terminal: String?
    /// `TERM` of that terminal.
    public var terminalType: String?
    /// `DISPLAY`.
    public var display: String?
    /// `WAYLAND_DISPLAY`.
    public var waylandDisplay: String?
    /// `XAUTHORITY`.
    public var xAuthority: String?
    /// `LC_CTYPE` or what stands for it.
    public var characterType: String?
    /// Whose terminal it has to be: the socket's peer.
    ///
    /// Set by the daemon, never part of a message.
    public var client: PromptClient?

    /// Describes a place; nothing given means that there is none.
    public init(
        terminal: String? = nil,
        terminalType: String? = nil,
        display: String? = nil,
        waylandDisplay: String? = nil,
        xAuthority: String? = nil,
        characterType: String? = nil,
        client: PromptClient? = nil
    ) {
        self.terminal = terminal
        self.terminalType = terminalType
        self.display = display
        self.waylandDisplay = waylandDisplay
        self.xAuthority = xAuthority
        self.characterType = characterType
        self.client = client
    }
}

/// What the person did.
public enum PromptAnswer: ~Copyable, Sendable {
    /// Typed something; UTF-8.
    case entered(SecretBytes)
    /// Pressed the affirmative button of a box without field.
    case confirmed
    /// Pressed the fallback button.
    case fallback
    /// Pressed cancel, or closed the box.
    case cancelled
    /// Did nothing until the time was up.
    case timedOut
}

/// Why no box could be shown, or why it went.
public struct PromptError: Error, Sendable, Equatable {
    /// A reason to act on.
    public enum Code: String, Sendable {
        /// No terminal and no display.
        case notInteractive
        /// The client is not in the foreground process group of its terminal: a box would take the shell's keys.
        case inBackground
        /// No agent is there that draws for a daemon of another account.
        case noAgent
        /// The program that draws is not installed.
        case prompterMissing
        /// The program failed.
        case prompterFailed
        /// The task was cancelled: the box was taken away.
        case dismissed
    }

    /// What happened.
    public let code: Code
    /// The program's own code and text, for the log; never what was typed.
    public let detail: String

    /// Creates an error.
    public init(_ code: Code, detail: String = "") {
        self.code = code
        self.detail = detail
    }

    /// Compares codes alone.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.code == rhs.code }
}
