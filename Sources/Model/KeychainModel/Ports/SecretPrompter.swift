public import SecretMemory

/// Shows one prompt and returns what the user did.
///
/// ```swift
/// let answer = try await prompter.ask(prompt, at: origin) { armTheSensor() }
/// ```
public protocol SecretPrompter: Sendable {
    /// Checks whether a prompt could be shown for a request from this origin.
    ///
    /// - Returns: the channels that it could be on; empty if none can be determined.
    /// - Throws: ``PromptError`` `notInteractive` without terminal and display, `prompterMissing` without a pinentry
    ///   program.
    @discardableResult
    func checkCanPrompt(at origin: PromptOrigin) async throws(PromptError) -> Set<PromptChannel>

    /// Shows a prompt and waits for its end.
    ///
    /// - Parameters:
    ///   - prompt: the content of the prompt.
    ///   - origin: where to show it.
    ///   - whenShown: called as soon as the prompt is shown, with a closure that determines its channel, or nil if
    ///     that is impossible. The closure may take a while.
    /// - Returns: what the user did.
    /// - Throws: ``PromptError``; `dismissed` if the task was cancelled, which removes the prompt.
    func ask(
        _ prompt: Prompt,
        at origin: PromptOrigin,
        whenShown: @escaping @Sendable (() -> PromptChannel?) -> Void
    ) async throws(PromptError) -> PromptAnswer

    /// Whether the prompt for a request from `origin` is still shown, as far as this prompter can lose it.
    ///
    /// Asked before a match of the sensor counts; takes a second at most.
    func stillShows(at origin: PromptOrigin) async -> Bool

    /// Shows a secret once, after the prompt's text, until the user confirms having noted it.
    func show(
        _ secret: borrowing SecretBytes,
        in prompt: Prompt,
        at origin: PromptOrigin
    ) async throws(PromptError) -> PromptAnswer

    /// The login of the place where the prompt for a request from `origin` would be shown, to tell whether its session is
    /// active.
    ///
    /// - Parameters:
    ///   - origin: where to show it.
    ///   - user: whose login it has to be.
    /// - Returns: the kernel's audit session; nil if it is unknown.
    func login(at origin: PromptOrigin, of user: UInt32) async -> UInt32?

    /// A prompter for a likely prompt: it starts what it can before the content is known.
    ///
    /// Destroying it ends what was started and not used.
    func prepared(at origin: PromptOrigin) -> any SecretPrompter

    /// Shows on the terminal of a request that it waits for a prompt elsewhere.
    ///
    /// - Returns: a closure that erases the line; nil if none was shown, as for a request from the same terminal.
    func showWait(at origin: PromptOrigin, for other: PromptOrigin) -> (@Sendable () -> Void)?
}

extension SecretPrompter {
    /// Returns itself: nothing can be started early.
    public func prepared(at origin: PromptOrigin) -> any SecretPrompter { self }

    /// True: the prompter itself shows it.
    public func stillShows(at origin: PromptOrigin) async -> Bool { true }

    /// That of the requesting process: whoever may have a prompt on a terminal descends from the process that holds it, with
    /// its login, and the name of a display does not tell whose it is.
    public func login(at origin: PromptOrigin, of user: UInt32) async -> UInt32? {
        origin.client?.login(of: user)
    }

    /// Nil: there is no terminal to show it on.
    public func showWait(at origin: PromptOrigin, for other: PromptOrigin) -> (@Sendable () -> Void)? { nil }
}

/// The content of a prompt.
public struct Prompt: Sendable, Equatable {
    /// The action that the user is asked for.
    public enum Input: Sendable, Equatable {
        /// Type a secret.
        case secret
        /// Type a new secret twice.
        case newSecret
        /// Press a button: the prompt has no field.
        case confirmation
        /// Touch the sensor: the prompt has no field, only cancel and, with a title, the fallback button.
        case touch
        /// Touch the sensor or type the passcode.
        case touchOrSecret
    }

    /// The action that the user is asked for.
    public var input: Input
    /// The requesting program, from the socket's peer; never from the message.
    public var requester: String
    /// ``Caller/startedBy`` of that program.
    public var startedBy: String
    /// How many other requests share the outcome of this prompt.
    public var othersWaiting = 0
    /// The app's reason: plain text, shown as the app's words.
    public var reason: String
    /// What the app says beside its reason, also shown as the app's words.
    public var details: PromptDetails
    /// The heading, in Touchstone's own words: "Unlock the keychain".
    public var heading: String
    /// The label of the field.
    public var fieldLabel: String
    /// The error of the previous attempt: "No match. 4 tries left."
    public var error: String?
    /// Rates a new secret while it is typed, or before the second entry; nil accepts any.
    public var judge: NewSecretJudge?
    /// The title of the cancel button; nil for the default.
    public var cancelTitle: String?
    /// The titles of the fallback buttons, at most ``PromptDetails/mostFallbacks``; nil for the default button, empty for
    /// none.
    public var fallbackTitles: [String]?
    /// The prompt is removed after this time.
    public var timeout: Duration

    /// Describes a prompt.
    public init(
        _ input: Input,
        requester: String,
        startedBy: String = "",
        reason: String = "",
        details: PromptDetails = PromptDetails(),
        heading: String,
        fieldLabel: String = "Passcode:",
        error: String? = nil,
        cancelTitle: String? = nil,
        fallbackTitles: [String]? = nil,
        timeout: Duration = .seconds(120)
    ) {
        self.input = input
        self.requester = requester
        self.startedBy = startedBy
        self.reason = reason
        self.details = details
        self.heading = heading
        self.fieldLabel = fieldLabel
        self.error = error
        self.cancelTitle = cancelTitle
        self.fallbackTitles = fallbackTitles
        self.timeout = timeout
    }
}

/// Where a request came from, and so where to show its prompt.
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
    /// `LC_CTYPE` or its substitute.
    public var characterType: String?
    /// `LC_MESSAGES` or its substitute.
    public var language: String?
    /// The process whose terminal it has to be: the socket's peer.
    ///
    /// Set by the daemon, never part of a message.
    public var client: PromptClient?

    /// The place that a program's variables tell, beside its terminal.
    ///
    /// - Parameters:
    ///   - terminal: its terminal; nil for none.
    ///   - variable: looks up a variable of its environment; nil for an empty one.
    package init(terminal: String?, variable: (String) -> String?) {
        func first(_ names: String...) -> String? { names.lazy.compactMap(variable).first }
        self.init(
            terminal: terminal,
            terminalType: terminal.flatMap { _ in variable("TERM") },
            display: variable("DISPLAY"),
            waylandDisplay: variable("WAYLAND_DISPLAY"),
            xAuthority: variable("XAUTHORITY"),
            characterType: first("LC_ALL", "LC_CTYPE", "LANG"),
            language: first("LC_ALL", "LC_MESSAGES", "LANG")
        )
    }

    /// Describes a place; without arguments, no place.
    public init(
        terminal: String? = nil,
        terminalType: String? = nil,
        display: String? = nil,
        waylandDisplay: String? = nil,
        xAuthority: String? = nil,
        characterType: String? = nil,
        language: String? = nil,
        client: PromptClient? = nil
    ) {
        self.terminal = terminal
        self.terminalType = terminalType
        self.display = display
        self.waylandDisplay = waylandDisplay
        self.xAuthority = xAuthority
        self.characterType = characterType
        self.language = language
        self.client = client
    }
}

/// What the user did.
public enum PromptAnswer: ~Copyable, Sendable {
    /// Typed a text in UTF-8.
    case entered(SecretBytes)
    /// Pressed the affirmative button of a prompt without a field.
    case confirmed
    /// Pressed the fallback button with this number in ``Prompt/fallbackTitles``, from 0; 0 for the default button.
    case fallback(Int)
    /// Pressed cancel or closed the prompt.
    case cancelled
    /// Did nothing until the timeout.
    case timedOut
}

/// Why a prompt could not be shown, or was removed.
public struct PromptError: Error, Sendable, Equatable {
    /// A reason to act on.
    public enum Code: String, Sendable {
        /// No terminal and no display.
        case notInteractive = "notInteractive"
        /// The client is not in the foreground process group of its terminal: a prompt would take the shell's input.
        case inBackground = "inBackground"
        /// No agent runs that could draw for a daemon of another account.
        case noAgent = "noAgent"
        /// The prompt does not fit on the terminal, or has characters that the terminal does not take.
        case undrawable = "undrawable"
        /// The pinentry program is not installed.
        case prompterMissing = "prompterMissing"
        /// The program failed.
        case prompterFailed = "prompterFailed"
        /// The task was cancelled: the prompt was removed.
        case dismissed = "dismissed"
    }

    /// What happened.
    public let code: Code
    /// The program's own code and text, for the log; never the text typed.
    public let detail: String

    /// Creates an error.
    public init(_ code: Code, detail: String = "") {
        self.code = code
        self.detail = detail
    }

    /// Compares codes alone.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.code == rhs.code }
}
