import KeychainModel
import SecretMemory

/// The lines of a box that shows a secret: the usual one, and that for GNOME.
final class ShownSecret: Sendable {
    let line: SecretBytes
    let gnomeLine: SecretBytes

    /// Writes them; nil for a secret that does not fit.
    init?(_ secret: borrowing SecretBytes, in prompt: Prompt) {
        let gnome = PinentryFlavor(name: "gnome3")
        guard let line = PromptDescription.line(of: prompt, showing: secret),
            let gnomeLine = PromptDescription.line(of: prompt, flavor: gnome, showing: secret)
        else { return nil }
        self.line = line
        self.gnomeLine = gnomeLine
    }
}

/// One conversation with one pinentry program, from its start to its end; blocks its thread.
struct PinentryExchange: ~Copyable {
    /// How long the program may take to start and to answer what no person has to answer.
    static let handshakeLimit = Duration.seconds(10)
    /// How much longer than the prompt's own time we wait before we take the box away ourselves.
    static let watchdogGrace = Duration.seconds(5)

    private let program: String
    private let environment: PinentryEnvironment
    private var terminal: PinentryTerminal?
    /// Why the box cannot be drawn on the terminal that was named.
    private var terminalFault: PromptError?
    private let cancel: ThreadSignal
    private var place: PromptPlace
    private var flavor = PinentryFlavor(name: "")
    private var isShown = false
    /// What ``start()`` started, or why it could not.
    private var started: Result<Running, PromptError>?

    /// A program that has greeted and was told where to draw, and our end of its socket.
    private struct Running: ~Copyable {
        let process: PinentryProcess
        var connection: AssuanConnection
    }

    /// Finds the program and the place to draw, and starts nothing; whether the client may have a box there, ``look()`` tells.
    ///
    /// - Throws: ``PromptError`` with `prompterMissing` or `notInteractive`.
    init(
        _ program: PinentryProgram,
        at origin: PromptOrigin,
        user: UInt32,
        environment: PinentryEnvironment,
        cancel: ThreadSignal
    ) throws(PromptError) {
        // First: without it no place is good enough.
        let path = try program.resolve()
        var place = PromptPlace(origin)
        var (terminal, fault): (PinentryTerminal?, PromptError?)
        if let name = place.terminal {
            do {
                terminal = try PinentryTerminal(path: name, owner: user, client: origin.client)
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
        (self.environment, self.cancel) = (environment, cancel)
    }

    /// Whether the box can be drawn on a terminal.
    var hasTerminal: Bool { terminal != nil }

    /// Looks whether the client may have a box on the terminal; one that may not gets it on its display, if it has one.
    ///
    /// - Returns: the channels that the box could be on, before the program was asked.
    /// - Throws: ``PromptError`` with `inBackground`.
    mutating func look() throws(PromptError) -> Set<PromptChannel> {
        var channel: PromptChannel?
        do throws(PromptError) {
            channel = try terminal?.look()
        } catch {
            guard place.hasDisplay else { throw error }
            (terminal, place.terminal, terminalFault) = (nil, nil, error)
        }
        return Set([channel, displayChannel].compactMap { $0 })
    }

    /// The channel that the box is on, by what the program says of itself.
    private var channel: PromptChannel? { drawsOnDisplay ? displayChannel : terminal?.channel }

    private var displayChannel: PromptChannel? {
        DisplayChannel.of(place, runtimeDirectory: environment.runtimeDirectory)
    }

    /// Whether a box could be shown on a display, which the program itself is asked for.
    mutating func check() throws(PromptError) {
        _ = try converse { exchange, connection throws(ExchangeFailure) in
            let handshake = ContinuousClock.now + Self.handshakeLimit
            try exchange.readOptions(&connection, until: handshake)
            return .confirmed
        }
    }

    /// Starts the program before it is known what the box says; the box tells when that fails.
    mutating func start() {
        do throws(PromptError) {
            started = .success(try launch())
        } catch {
            started = .failure(error)
        }
    }

    /// Waits for what the box says; nil when it is not wanted any more.
    func next(_ order: PinentryOrder) -> PinentryOrder.Content? {
        order.wait(unless: cancel)
    }

    /// Shows the box and waits for its end.
    ///
    /// - Parameters:
    ///   - prompt: the box.
    ///   - secret: a secret to note, which ends its description; nil for none.
    ///   - whenShown: called once, after the box was put up, with what looks up its channel.
    /// - Returns: what the person did.
    /// - Throws: ``PromptError``; the program has ended all the same.
    mutating func run(
        _ prompt: Prompt,
        showing secret: ShownSecret?,
        whenShown: (() -> PromptChannel?) -> Void
    ) throws(PromptError) -> PromptAnswer {
        do {
            return try show(prompt, secret, whenShown: whenShown)
        } catch {
            // A display that is named and not there must not keep the terminal from being used.
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
            try connection.send(commands.settings.map(\.octets), until: handshake)
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

            let limit = Duration.seconds(prompt.timeoutInSeconds) + Self.watchdogGrace
            let box = PinentryBox(commands, for: prompt, deadline: ContinuousClock.now + limit)
            return try box.ask(on: &connection) {
                if !exchange.isShown { whenShown { exchange.channel } }
                exchange.isShown = true
            }
        }
    }

    /// Greeting, options and the question for the program's flavour; their answers are not waited for.
    private func greet(_ connection: inout AssuanConnection) throws(ExchangeFailure) {
        let deadline = ContinuousClock.now + Self.handshakeLimit
        let greeting = try connection.answer(until: deadline)
        if let code = greeting.error { throw .refused(code, command: "the connection") }
        let options = PinentryCommands.options(for: place)
        try connection.send(options.map(\.octets) + [Array("GETINFO flavor".utf8)], until: deadline)
    }

    /// The answers to what ``greet`` sent.
    private mutating func readOptions(
        _ connection: inout AssuanConnection,
        until deadline: ContinuousClock.Instant
    ) throws(ExchangeFailure) {
        try Self.readAnswers(to: PinentryCommands.options(for: place), on: &connection, until: deadline)
        let answer = try connection.answer(until: deadline)
        // No secret yet: "curses", "tty", "gnome3", "gtk2:curses" where it fell back.
        let name = answer.data.withOctets { octets in
            octets.indices.map { String(Unicode.Scalar(octets[$0])) }.joined()
        }
        flavor = PinentryFlavor(name: name)
        // pinentry-tty without a terminal would answer "cancelled", as a person does.
        if terminal == nil, flavor.drawsOnTerminal {
            // Only GNOME's box is drawn by another program, which it looks for on that bus.
            let fellBack = flavor.name.hasPrefix("gnome3:") && environment.sessionBus == nil
            throw fellBack ? .needsSessionBus : .needsTerminal
        }
    }

    /// A program that does not say what it is takes what it was given; the terminal is the stricter guess.
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

    /// Starts the program and greets it; one that does not get so far has ended.
    private mutating func launch() throws(PromptError) -> Running {
        let sockets = try SocketPair()
        let process = try PinentryProcess(
            path: program,
            environment: environment.variables(for: place),
            socket: sockets.theirs
        )
        // While it starts: it is told where to draw by the greeting, and not before.
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

    /// Starts the program unless it was, talks, ends it on every path, and leaves the terminal as it was.
    private mutating func converse(
        _ talk: (inout Self, inout AssuanConnection) throws(ExchangeFailure) -> PromptAnswer
    ) throws(PromptError) -> PromptAnswer {
        var program = if let started = started.take() { try started.get() } else { try launch() }
        let result = Self.result { () throws(ExchangeFailure) in try talk(&self, &program.connection) }
        let isAnswered =
            switch result {
            case .success: true
            case .failure: false
            }
        if isAnswered {
            // Best effort: the answer is here, and the program is ended in any case.
            let soon = ContinuousClock.now + PinentryProcess.grace.itself
            try? program.connection.send([Array("BYE".utf8)], until: soon)
        }
        let wasKilled = program.process.end(politely: isAnswered)
        terminal?.restore(wasKilled: wasKilled || !isAnswered, drewScreen: flavor.drawsWithCurses)
        return try conclude(result)
    }

    private func conclude(
        _ result: consuming Result<PromptAnswer, ExchangeFailure>
    ) throws(PromptError) -> PromptAnswer {
        let isGone = terminal?.isConnected == false
        switch consume result {
        // A terminal that hangs up reads as end of file: the program says "cancelled", or nothing any more.
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
