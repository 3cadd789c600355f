import CBOR
import Glibc
public import KeychainModel
import SecretMemory
import Synchronization

/// A program that a client starts to draw its prompts, if the system's daemon serves the user and cannot draw
/// them itself.
package protocol PromptAgent: Sendable {
    /// Starts the agent, and returns once it can draw.
    ///
    /// - Throws: `error`, with which the request failed, if an agent would not help; or the reason why none could
    ///   be started.
    func start(insteadOf error: KeychainError) throws(KeychainError)

    /// Whether a signal ended or stopped the agent that was started: the terminal may still be in the prompt's modes.
    var wasKilledOrStopped: Bool { get }
}

/// The client of the daemon: every call sends one request and blocks until its reply has arrived.
///
/// Threads share one connection. The daemon is started if none is listening, unless it is the system's. If the connection is lost,
/// requests in flight fail with `errSecInternalComponent` and the remedy `retry`, and the next call reconnects; contexts of the old
/// connection are lost, so the user is asked again.
///
/// ```swift
/// let status = try RemoteKeychain.shared.status()
/// print(status.keybag)
/// ```
public final class RemoteKeychain: Sendable {
    /// The keychain of this user, as the environment determines it.
    public static let shared = RemoteKeychain()

    private static let lastContextNumber = Atomic<UInt64>(0)

    private let layout: Layout?
    private let daemon: DaemonLocation
    /// Used to check for system mode at each connection; nil for a keychain with an explicit layout.
    private let system: SystemMode?
    /// The program for which a door asks, told to the daemon at each connection; nil for none.
    private let represented: RepresentedProgram?
    /// What the daemon said of it at the last connection.
    private let representedFile = Guarded<ProgramFile?>(nil)
    private let connection = Guarded<Connection?>(nil)
    private let isClosedToTests = Atomic<Bool>(false)
    private let agent = Guarded<(any PromptAgent)?>(nil)
    /// The locked memory for the secrets of results.
    let room: LockedRoom

    /// Makes a client; does not connect yet.
    ///
    /// - Parameters:
    ///   - layout: the keychain's layout; nil for the one from the environment, or the system's daemon.
    ///   - daemon: the program to start if no daemon is listening.
    public convenience init(layout: Layout? = nil, daemon: DaemonLocation = .automatic) {
        self.init(layout: layout, daemon: daemon, room: .shared)
    }

    convenience init(layout: Layout?, daemon: DaemonLocation, room: LockedRoom) {
        self.init(
            layout: layout ?? Layout(variable: ProcessEnvironment.variable),
            daemon: daemon,
            system: layout == nil ? SystemMode() : nil,
            room: room
        )
    }

    init(
        layout: Layout?,
        daemon: DaemonLocation,
        system: SystemMode?,
        room: LockedRoom = .shared,
        represented: RepresentedProgram? = nil
    ) {
        self.represented = represented
        self.layout = layout
        self.daemon = daemon
        self.system = system
        self.room = room
    }

    /// The daemon's error message about this user's settings; nil if they are valid, and in system mode, in which a user
    /// has none.
    public static func configurationFault() -> String? {
        guard shared.systemInForce == nil, let layout = shared.layout else { return nil }
        return DaemonStart.configurationFault(at: shared.daemon, for: layout)
    }

    /// The path of the keychain's ssh-agent, whether or not it listens now; nil without a home.
    package var agentSocket: String? { (systemInForce?.layout ?? layout)?.agentSocket }

    /// The layout of this user's keychain in system mode; nil in per-user mode.
    package static func systemLayout() -> Layout? { shared.systemInForce?.layout }

    /// A number for a new context, unique in this process.
    ///
    /// - Parameter time: how long an authentication counts in it (``ContextLifetime``); zero for as long as it exists.
    /// - Returns: the number.
    public func makeContextNumber(lasting time: Duration = .zero) -> UInt64 {
        ContextLifetime.number(Self.lastContextNumber.add(1, ordering: .relaxed).newValue, lasting: time)
    }

    /// Sets the agent to start when a request finds no program to draw its prompt; the request is then sent
    /// again.
    package func drawPrompts(by agent: any PromptAgent) { self.agent.withLock { $0 = agent } }

    /// Sends a request and delivers its replies to `sink`.
    func call<Body: WireBody & ~Copyable>(
        _ method: Method,
        _ body: borrowing Body,
        replies sink: any ReplySink,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) {
        var starts = 0
        while true {
            do throws(KeychainError) {
                return try callOnce(method, body, replies: sink, cancellation: cancellation)
            } catch {
                // The daemon releases nothing before the prompt, so `sink` is unchanged. An agent may be killed before the
                // daemon knows that its prompt is visible: then another one draws it, once.
                guard error.cause?.known == .noAgent, systemInForce != nil, starts < 2,
                    let agent = agent.withLock({ $0 })
                else { throw error }
                try agent.start(insteadOf: error)
                starts += 1
            }
        }
    }

    private func callOnce<Body: WireBody & ~Copyable>(
        _ method: Method,
        _ body: borrowing Body,
        replies sink: any ReplySink,
        cancellation: Cancellation?
    ) throws(KeychainError) {
        if let cancellation, cancellation.isCancelled { throw .cancelledByApp }
        TerminalModes.begin()
        var isLost = true
        defer { TerminalModes.end(isLost: isLost) }
        // Retry once: the cached connection may belong to a daemon that has exited, or that could not identify this program.
        for _ in 0..<2 {
            let (connection, isNew) = try usableConnection()
            do throws(KeychainError) {
                if try connection.call(method, body, replies: sink, cancellation: cancellation) {
                    isLost = false
                    return
                }
            } catch {
                if error.isOfUntoldProgram {
                    retire(connection)
                    // Nothing was done, so `sink` is unchanged; the daemon identifies the program again at a
                    // new connection.
                    if !isNew { continue }
                }
                isLost = error.status == .internalComponent
                let isPromptLost =
                    error.authentication?.code == .systemCancel || error.cause?.known == .noAgent
                // The program that drew the prompt did not exit normally, perhaps before the daemon knew of its prompt.
                if isPromptLost, agent.withLock({ $0 })?.wasKilledOrStopped == true { isLost = true }
                throw error
            }
        }
        throw .connectionLost("hung up")
    }

    /// Sends a request and returns its only reply.
    func call<Body: WireBody & ~Copyable, Reply: WireBody & Sendable & ~Copyable>(
        _ method: Method,
        _ body: borrowing Body,
        reply: Reply.Type,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> Reply {
        let sink = SingleReply<Reply>()
        try call(method, body, replies: sink, cancellation: cancellation)
        guard let reply = sink.take() else { throw .unintelligible(WireError.malformed) }
        return reply
    }

    /// Sends a request that causes no prompt, so terminal modes are not saved; does not retry if the connection is lost.
    func send<Body: WireBody & ~Copyable>(
        _ method: Method,
        _ body: borrowing Body,
        replies sink: any ReplySink,
        cancellation: Cancellation
    ) throws(KeychainError) {
        if cancellation.isCancelled { throw .cancelledByApp }
        guard try usableConnection().connection.call(method, body, replies: sink, cancellation: cancellation)
        else {
            throw .connectionLost("hung up")
        }
    }

    /// The same keychain with a connection of its own, which starts no daemon.
    package func separate() -> RemoteKeychain {
        let other = RemoteKeychain(
            layout: layout,
            daemon: .none,
            system: system,
            room: room,
            represented: represented
        )
        if isClosedToTests.load(ordering: .acquiring) { other.closeToTests() }
        return other
    }

    /// The same keychain with a connection of its own, for another program; only for a door.
    package func representing(_ program: RepresentedProgram) -> RemoteKeychain {
        RemoteKeychain(layout: layout, daemon: daemon, system: system, room: room, represented: program)
    }

    /// The file of the program that this keychain asks for, as the daemon knows it; connects if need be.
    ///
    /// - Returns: the file; nil if the daemon could not identify the program, or without one.
    package func representedProgram() throws(KeychainError) -> ProgramFile? {
        _ = try usableConnection()
        return representedFile.withLock(\.self)
    }

    /// Whether there is a usable connection.
    var isConnected: Bool {
        connection.withLock { $0.map { $0.isUsable && !$0.isHungUp } ?? false }
    }

    /// Makes every later call fail, because a test outside its own keychain would otherwise use the user's.
    package func closeToTests() { isClosedToTests.store(true, ordering: .releasing) }

    /// Makes the next request reconnect; requests in flight stay on their connection.
    func retire(_ connection: Connection) {
        self.connection.withLock { slot in
            if slot === connection { slot = nil }
        }
    }

    /// The connection, and whether it was just made.
    private func usableConnection() throws(KeychainError) -> (connection: Connection, isNew: Bool) {
        if isClosedToTests.load(ordering: .acquiring) {
            throw .notAvailable(.outsideTestKeychain, detail: "make the call inside TemporaryKeychain.use")
        }
        return try connection.withLock { slot throws(KeychainError) in
            if let connection = slot, connection.isUsable { return (connection, false) }
            slot = nil
            do throws(KeychainError) {
                let connection = try connect()
                if let represented {
                    let reply = SingleReply<RepresentedReply>()
                    _ = try connection.call(.represent, represented, replies: reply, cancellation: nil)
                    let file = reply.take()?.file
                    representedFile.withLock { $0 = file }
                }
                slot = connection
                return (connection, true)
            } catch {
                throw Sandbox.naming(error)
            }
        }
    }

    /// System mode, if it applies now: an administrator can switch it while this process runs.
    private var systemInForce: SystemMode? {
        system.flatMap { $0.isInForce(variable: ProcessEnvironment.variable) ? $0 : nil }
    }

    private func connect() throws(KeychainError) -> Connection {
        if let system = systemInForce { return try connect(to: system) }
        guard let layout else { throw .notAvailable(.noHome) }
        if let fault = layout.runtimeFault() { throw .notAvailable(.socketPlace, detail: fault) }
        try prepareMemory()
        do {
            return try Connection.open(.perUser(layout))
        } catch is DaemonAbsence {
            try DaemonStart.run(at: daemon, for: layout)
        } catch {
            throw .unintelligible(error)
        }
        do {
            return try Connection.open(.perUser(layout))
        } catch is DaemonAbsence {
            throw .notAvailable(.daemonDoesNotListen)
        } catch {
            throw .unintelligible(error)
        }
    }

    /// Connects to the system's daemon; the service manager, not the client, starts it on connection.
    private func connect(to system: SystemMode) throws(KeychainError) -> Connection {
        try prepareMemory()
        // A daemon that exits because it is idle may reset the first connection.
        for _ in 0..<2 {
            do {
                return try Connection.open(.system(system))
            } catch is DaemonAbsence {
                continue
            } catch let error as KeychainError where error.cause?.known == .daemonSilent {
                throw system.absence
            } catch {
                throw .unintelligible(error)
            }
        }
        throw system.absence
    }

    private func prepareMemory() throws(KeychainError) {
        do {
            try LockedPages.prepare()
        } catch {
            throw KeychainError(error)
        }
    }
}
