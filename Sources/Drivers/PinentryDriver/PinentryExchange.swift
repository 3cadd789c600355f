import KeychainModel
import SecretMemory

/// The description lines of a prompt that shows a secret: the usual one, and GNOME's.
final class ShownSecret: Sendable {
    let line: SecretBytes
    let gnomeLine: SecretBytes

    /// Builds the lines, the usual one for a place that takes UTF-8 or does not; nil for a secret that does not fit.
    init?(_ secret: borrowing SecretBytes, in prompt: Prompt, at place: PromptPlace) {
        let gnome = PinentryFlavor(name: "gnome3", words: place.words)
        let usual = PinentryFlavor(name: "", drawsASCII: !place.takesUTF8, words: place.words)
        guard let line = PromptDescription.line(of: prompt, flavor: usual, showing: secret),
            let gnomeLine = PromptDescription.line(of: prompt, flavor: gnome, showing: secret)
        else { return nil }
        self.line = line
        self.gnomeLine = gnomeLine
    }
}

/// One conversation with one pinentry program, from its start to its end; blocks its thread.
struct PinentryExchange: ~Copyable {
    /// How long the program may take to start and to answer what needs no user.
    static let handshakeLimit = Duration.seconds(10)
    /// How long after the prompt's own timeout we end it ourselves.
    static let watchdogGrace = Duration.seconds(5)

    private let program: String
    private let environment: PinentryEnvironment
    private var terminal: PinentryTerminal?
    /// Why the prompt cannot be drawn on the named terminal.
    private var terminalFault: PromptError?
    private let cancel: ThreadSignal
    private let formerDisplays: FormerDisplays
    private let drawing: DrawingPrograms
    private let origin: PromptOrigin
    private let readingPause: Duration
    private var place: PromptPlace
    private var flavor = PinentryFlavor(name: "")
    private var isShown = false
    /// The program that draws, while it runs: its pid and its pidfd.
    private var drawer: (process: Int32, pidfd: CInt)?
    /// The program that ``start()`` started, or why it could not.
    private var started: Result<Running, PromptError>?

    /// A program that has greeted and got its options, and our end of its socket.
    private struct Running: ~Copyable {
        let process: PinentryProcess
        var connection: AssuanConnection
    }

    /// Finds the program and the place to draw, and starts nothing; ``look()`` tells whether the client may have a
    /// prompt there.
    ///
    /// - Throws: ``PromptError`` with `prompterMissing` or `notInteractive`.
    init(
        _ program: PinentryProgram,
        at origin: PromptOrigin,
        user: UInt32,
        trust: TerminalTrust,
        environment: PinentryEnvironment,
        formerDisplays: FormerDisplays,
        drawing: DrawingPrograms,
        readingPause: Duration,
        cancel: ThreadSignal
    ) throws(PromptError) {
        // Resolved first: without the program no place is usable.
        let path = try program.resolve()
        var place = PromptPlace(origin)
        var (terminal, fault): (PinentryTerminal?, PromptError?)
        if let name = place.terminal {
            do {
                terminal = try PinentryTerminal(path: name, owner: user, client: origin.client, trust: trust)
            } catch {
                guard place.hasDisplay else { throw error }
                (place.terminal, fault) = (nil, error)
            }
        }
        guard terminal != nil || place.hasDisplay else {
            throw PromptError(.notInteractive, detail: "no terminal and no display")
        }
        self.program = path
        (self.place, self.terminal, terminalFault) = (place, terminal, fault)
        (self.environment, self.formerDisplays, self.cancel) = (environment, formerDisplays, cancel)
        (self.readingPause, self.drawing, self.origin) = (readingPause, drawing, origin)
    }

    /// Whether the prompt can be drawn on a terminal.
    var hasTerminal: Bool { terminal != nil }

    /// Checks whether the client may have a prompt on the terminal; if not, the prompt is shown on its display, if it has
    /// one.
    ///
    /// - Returns: the possible channels of the prompt, before the program was asked: on a display, that of the last one.
    /// - Throws: ``PromptError`` with `inBackground`.
    mutating func look() throws(PromptError) -> Set<PromptChannel> {
        var channel: PromptChannel?
        do throws(PromptError) {
            channel = try terminal?.look()
        } catch {
            guard place.hasDisplay else { throw error }
            (terminal, place.terminal, terminalFault) = (nil, nil, error)
        }
        return Set([channel, formerDisplays.channel(at: place)].compactMap { $0 })
    }

    /// The channel that the prompt is on: determined anew, from the terminal or from the program's connections.
    private var channel: PromptChannel? {
        guard drawsOnDisplay else { return terminal?.channel }
        let channel = DisplayChannel.of(
            drawer.flatMap { ProgramConnection.all(of: $0.process, pidfd: $0.pidfd) },
            at: place,
            flavor: flavor,
            runtimeDirectory: environment.runtimeDirectory
        )
        formerDisplays.note(channel, at: place)
        return channel
    }

    /// Checks whether a prompt could be shown on a display, by asking the program itself.
    ///
    /// Its channel is then expected of the next prompt there.
    mutating func check() throws(PromptError) {
        _ = try converse { exchange, connection throws(ExchangeFailure) in
            let handshake = ContinuousClock.now + Self.handshakeLimit
            try exchange.readOptions(&connection, until: handshake)
            _ = exchange.channel
            return .confirmed
        }
    }

    /// Starts the program before the content of the prompt is known; ``run(_:showing:whenShown:)`` throws if that
    /// failed.
    mutating func start() {
        do throws(PromptError) {
            started = .success(try launch())
        } catch {
            started = .failure(error)
        }
    }

    /// Waits for the content of the prompt; nil if the prompt is cancelled.
    func next(_ order: PinentryOrder) -> PinentryOrder.Content? {
        order.wait(unless: cancel)
    }

    /// Shows the prompt and waits for its end.
    ///
    /// - Parameters:
    ///   - prompt: the content of the prompt.
    ///   - secret: a secret to note, shown at the end of the description; nil for none.
    ///   - whenShown: called once when the prompt is shown, with a closure that determines its channel.
    /// - Returns: what the user did.
    /// - Throws: ``PromptError``; the program has ended in this case too.
    mutating func run(
        _ prompt: Prompt,
        showing secret: ShownSecret?,
        whenShown: (() -> PromptChannel?) -> Void
    ) throws(PromptError) -> PromptAnswer {
        do {
            return try show(prompt, secret, whenShown: whenShown)
        } catch {
            // A named display that does not work must not prevent the use of the terminal.
            guard error.code == .prompterFailed, !isShown, terminal != nil, place.hasDisplay else {
                throw error
            }
            (place.display, place.waylandDisplay) = (nil, nil)
            return try show(prompt, secret, whenShown: whenShown)
        }
    }

    private mutating func show(
        _ prompt: Prompt,
        _ secret: ShownSecret?,
        whenShown: (() -> PromptChannel?) -> Void
    ) throws(PromptError) -> PromptAnswer {
        try converse { exchange, connection throws(ExchangeFailure) in
            let handshake = ContinuousClock.now + Self.handshakeLimit
            try exchange.readOptions(&connection, until: handshake)
            let flavor = exchange.flavor
            let commands = PinentryCommands(for: prompt, showsSecret: secret != nil, flavor: flavor)
            try connection.send(commands.settings.map { flavor.drawable($0.octets) }, until: handshake)
            if let secret {
                if flavor.isGNOME {
                    try connection.send(secret.gnomeLine, until: handshake)
                } else {
                    try connection.send(secret.line, until: handshake)
                }
            } else {
                try connection.send([PromptDescription(of: prompt, flavor: flavor).line], until: handshake)
            }
            try Self.readAnswers(to: commands.settings, on: &connection, until: handshake)
            let described = try connection.answer(until: handshake)
            if let code = described.error { throw .refused(code, command: "SETDESC") }

            if let terminal = exchange.terminal, let drawer = exchange.drawer, !exchange.drawsOnDisplay {
                connection.keys = EarlyKeys(terminal, readBy: drawer.process, pause: exchange.readingPause)
            }
            let limit = Duration.seconds(prompt.timeoutInSeconds) + Self.watchdogGrace
            let box = PinentryBox(commands, for: prompt, deadline: ContinuousClock.now + limit)
            return try box.ask(on: &connection) {
                if !exchange.isShown { whenShown { exchange.channel } }
                exchange.isShown = true
            }
        }
    }

    /// Reads the greeting and sends the options and `GETINFO flavor`, without waiting for their responses.
    private func greet(_ connection: inout AssuanConnection) throws(ExchangeFailure) {
        let deadline = ContinuousClock.now + Self.handshakeLimit
        let greeting = try connection.answer(until: deadline)
        if let code = greeting.error { throw .refused(code, command: "the connection") }
        let options = PinentryCommands.options(for: place)
        try connection.send(options.map(\.octets) + [Array("GETINFO flavor".utf8)], until: deadline)
    }

    /// Reads the responses to what ``greet`` sent.
    private mutating func readOptions(
        _ connection: inout AssuanConnection,
        until deadline: ContinuousClock.Instant
    ) throws(ExchangeFailure) {
        try Self.readAnswers(to: PinentryCommands.options(for: place), on: &connection, until: deadline)
        let answer = try connection.answer(until: deadline)
        // Not secret yet: "curses", "tty", "gnome3", or "gtk2:curses" after a fallback.
        let name = answer.data.withOctets { octets in
            octets.indices.map { String(Unicode.Scalar(octets[$0])) }.joined()
        }
        flavor = PinentryFlavor(name: name)
        flavor.drawsASCII = flavor.drawsOnTerminal && !place.takesUTF8
        flavor.words = place.words
        // pinentry-tty without a terminal would answer "cancelled", as a user does.
        if terminal == nil, flavor.drawsOnTerminal {
            // Only GNOME's prompt is drawn by another process, which pinentry finds on that bus.
            let fellBack = flavor.name.hasPrefix("gnome3:") && environment.sessionBus == nil
            throw fellBack ? .needsSessionBus : .needsTerminal
        }
    }

    /// A program that does not report its flavour may use either; the terminal is the stricter guess.
    private var drawsOnDisplay: Bool {
        place.hasDisplay && !flavor.drawsOnTerminal && (terminal == nil || !flavor.name.isEmpty)
    }

    private static func readAnswers(
        to lines: [PinentryCommands.Line],
        on connection: inout AssuanConnection,
        until deadline: ContinuousClock.Instant
    ) throws(ExchangeFailure) {
        for line in lines {
            let answer = try connection.answer(until: deadline)
            if line.isRequired, let code = answer.error { throw .refused(code, command: line.command) }
        }
    }

    /// Starts the program and reads its greeting; on failure the program has ended.
    private mutating func launch() throws(PromptError) -> Running {
        let sockets = try SocketPair()
        let process = try PinentryProcess(
            path: program,
            environment: environment.variables(for: place),
            socket: sockets.theirs
        )
        // Checked while the program starts: it gets the place to draw with the options after its greeting.
        _ = try look()
        var connection = AssuanConnection(
            adopting: sockets.takeOurs(),
            interruptions: .init(cancel: cancel.descriptor, terminal: terminal)
        )
        do throws(ExchangeFailure) {
            try greet(&connection)
        } catch {
            throw error.promptError
        }
        return Running(process: process, connection: connection)
    }

    /// Starts the program if necessary, talks to it, ends it on every path, and restores the terminal.
    private mutating func converse(
        _ talk: (inout Self, inout AssuanConnection) throws(ExchangeFailure) -> PromptAnswer
    ) throws(PromptError) -> PromptAnswer {
        var program = if let started = started.take() { try started.get() } else { try launch() }
        let process = program.process.identifier
        drawer = (process, program.process.descriptor)
        drawing.add(process, at: origin)
        let result = Self.result { () throws(ExchangeFailure) in try talk(&self, &program.connection) }
        let isAnswered =
            switch result {
            case .success: true
            case .failure: false
            }
        if isAnswered {
            // Best effort: the answer has arrived, and the program is ended in any case.
            let soon = ContinuousClock.now + PinentryProcess.grace.itself
            try? program.connection.send([Array("BYE".utf8)], until: soon)
        }
        drawer = nil
        drawing.remove(process)
        let wasKilled = program.process.end(politely: isAnswered)
        terminal?.restore(wasKilled: wasKilled || !isAnswered, drewScreen: flavor.drawsWithCurses)
        return try conclude(result)
    }

    private func conclude(
        _ result: consuming Result<PromptAnswer, ExchangeFailure>
    ) throws(PromptError) -> PromptAnswer {
        let isGone = terminal?.isConnected == false
        switch consume result {
        // The program reads a hang-up as end of file: it answers "cancelled", or nothing.
        case .success(.cancelled) where isGone:
            throw ExchangeFailure.terminalGone.promptError
        case .failure(.closed) where isGone:
            throw ExchangeFailure.terminalGone.promptError
        case .failure(.timedOut) where isShown:
            return .timedOut
        case .failure(.needsTerminal):
            throw terminalFault ?? ExchangeFailure.needsTerminal.promptError
        case .failure(.needsSessionBus):
            throw terminalFault ?? ExchangeFailure.needsSessionBus.promptError
        case .failure(let failure):
            throw failure.promptError
        case .success(let answer):
            return answer
        }
    }

    private static func result(
        of talk: () throws(ExchangeFailure) -> PromptAnswer
    ) -> Result<PromptAnswer, ExchangeFailure> {
        do {
            return .success(try talk())
        } catch {
            return .failure(error)
        }
    }
}
