package import Glibc
public import KeychainModel
public import SecretMemory

/// Draws prompts with a pinentry program, on the terminal or the display of a request.
///
/// Each prompt has its own program and thread, and both have ended when ``ask(_:at:whenShown:)`` returns.
///
/// ```swift
/// let prompter = PinentryPrompter()
/// let answer = try await prompter.ask(prompt, at: origin) { armTheSensor() }
/// ```
public struct PinentryPrompter: SecretPrompter {
    private let program: PinentryProgram
    private let user: uid_t
    private let trust: TerminalTrust
    private let environment: PinentryEnvironment
    private let drawsTouches: Bool
    private let readingPause: Duration
    private let formerDisplays = FormerDisplays()
    private let drawing = DrawingPrograms()

    /// How long after a prompt appears on a terminal keys still count as meant for something else.
    package static let readingPause = Duration.milliseconds(300)

    /// Prepares a prompter; no program is started before it is used.
    ///
    /// - Parameters:
    ///   - program: the pinentry program.
    ///   - user: the required owner of a request's terminal.
    ///   - trust: whether all terminals of a request's login are one channel.
    ///   - environment: the session in which a program on a display finds its services.
    ///   - drawsTouches: whether this process itself draws the prompts for a touch on a terminal.
    ///   - readingPause: how long after a prompt appears on a terminal keys still count as meant for something else.
    package init(
        program: PinentryProgram = PinentryProgram(),
        user: uid_t = ProcessUser.uid,
        trust: TerminalTrust = .terminal,
        environment: PinentryEnvironment = .current,
        drawsTouches: Bool = false,
        readingPause: Duration = Self.readingPause
    ) {
        self.program = program
        self.user = user
        self.trust = trust
        self.environment = environment
        self.drawsTouches = drawsTouches
        self.readingPause = readingPause
    }

    /// Checks whether a prompt could be shown for a request from this origin.
    @discardableResult
    public func checkCanPrompt(at origin: PromptOrigin) async throws(PromptError) -> Set<PromptChannel> {
        var exchange = try exchange(at: origin, cancel: ThreadSignal())
        let channels = try exchange.look()
        if exchange.hasTerminal { return channels }
        // Only the program itself can tell whether a display works.
        _ = try await start(at: origin) { exchange throws(PromptError) in
            try exchange.check()
            return .confirmed
        }.answer()
        return channels.union([formerDisplays.channel(at: PromptPlace(origin))].compactMap { $0 })
    }

    /// Shows a prompt and waits for its end.
    public func ask(
        _ prompt: Prompt,
        at origin: PromptOrigin,
        whenShown: @escaping @Sendable (() -> PromptChannel?) -> Void
    ) async throws(PromptError) -> PromptAnswer {
        if drawsTouches, prompt.input == .touch, !PromptPlace(origin).hasDisplay {
            let (user, readingPause) = (user, readingPause)
            return try await PinentryConversation { cancel throws(PromptError) in
                let box = try TerminalTouchBox(
                    prompt,
                    at: origin,
                    user: user,
                    readingPause: readingPause,
                    cancel: cancel
                )
                return try box.run(whenShown: whenShown)
            }.answer()
        }
        return try await start(at: origin) { exchange throws(PromptError) in
            try exchange.run(prompt, whenShown: whenShown)
        }.answer()
    }

    /// Whether the programs that draw prompts for a request from `origin` run: nobody can cancel in a stopped one.
    public func stillShows(at origin: PromptOrigin) async -> Bool {
        // This process itself stops a program for a moment to discard keys.
        let limit = ContinuousClock.now + PinentryProcess.grace.terminated
        while drawing.areStopped(at: origin) {
            guard ContinuousClock.now < limit, (try? await Task.sleep(for: .milliseconds(10))) != nil else {
                return false
            }
        }
        return true
    }

    /// A prompter whose program for the first prompt is started immediately.
    public func prepared(at origin: PromptOrigin) -> any SecretPrompter {
        PreparedPinentry(self, at: origin) ?? self
    }

    /// Shows on a request's terminal that it waits for a prompt elsewhere; not on the terminal that shows the prompt.
    public func showWait(at origin: PromptOrigin, for other: PromptOrigin) -> (@Sendable () -> Void)? {
        let (here, there) = (PromptPlace(origin), PromptPlace(other))
        guard let name = here.terminal, name != there.terminal,
            let terminal = try? PinentryTerminal(path: name, owner: user, client: origin.client),
            !terminal.isInBackground
        else { return nil }
        let place = there.terminal ?? there.display ?? there.waylandDisplay ?? "another terminal"
        return terminal.showLine("touchstone: waiting for another prompt, on \(place)")
    }

    /// Shows a secret below the prompt's text, with one button.
    public func show(
        _ secret: borrowing SecretBytes,
        in prompt: Prompt,
        at origin: PromptOrigin
    ) async throws(PromptError) -> PromptAnswer {
        guard let secret = ShownSecret(secret, in: prompt, at: PromptPlace(origin)) else {
            throw PromptError(.prompterFailed, detail: "a secret of this length cannot be shown")
        }
        return try await start(at: origin) { exchange throws(PromptError) in
            try exchange.run(prompt, showing: secret, whenShown: { _ in })
        }.answer()
    }

    /// Starts a conversation on its own thread.
    func start(
        at origin: PromptOrigin,
        _ talk: @escaping PinentryConversation.Talk
    ) throws(PromptError) -> PinentryConversation {
        try PinentryConversation { cancel throws(PromptError) in
            var exchange = try exchange(at: origin, cancel: cancel)
            return try talk(&exchange)
        }
    }

    private func exchange(
        at origin: PromptOrigin,
        cancel: ThreadSignal
    ) throws(PromptError) -> PinentryExchange {
        try PinentryExchange(
            program,
            at: origin,
            user: user,
            trust: trust,
            environment: environment,
            formerDisplays: formerDisplays,
            drawing: drawing,
            readingPause: readingPause,
            cancel: cancel
        )
    }
}

extension PinentryExchange {
    /// Shows the prompt; see ``run(_:showing:whenShown:)``.
    mutating func run(
        _ prompt: Prompt,
        whenShown: @Sendable (() -> PromptChannel?) -> Void
    ) throws(PromptError) -> PromptAnswer {
        try run(prompt, showing: nil, whenShown: whenShown)
    }
}
