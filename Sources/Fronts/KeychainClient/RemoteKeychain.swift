import CBOR
import Glibc
public import KeychainModel
import SecretMemory
import Synchronization

/// A program that a client starts to draw its prompts, where the daemon is the system's and cannot.
package protocol PromptAgent: Sendable {
    /// Starts it, and returns once it can draw.
    ///
    /// - Throws: `error`, which the request failed with, where the agent would be of no use; or why there is none.
    func start(insteadOf error: KeychainError) throws(KeychainError)

    /// Whether a signal ended the one that was started: the terminal may be as its box had it.
    var wasKilled: Bool { get }
}

/// The daemon, as an app sees it: every call sends one request and blocks until its answer is there.
///
/// Threads share one connection. The daemon is started when none listens, unless it is the system's; when it goes away, requests under way
/// fail with `errSecInternalComponent` and the remedy `retry`, and the next call connects again. What was
/// shown in a context before is gone then: the user is asked again.
///
/// ```swift
/// let status = try RemoteKeychain.shared.status()
/// print(status.keybag)
/// ```
public final class RemoteKeychain: Sendable {
    /// The keychain of this user, found by the environment.
    public static let shared = RemoteKeychain()

    private static let lastContextNumber = Atomic<UInt64>(0)

    private let layout: Layout?
    private let daemon: DaemonLocation
    /// Where system mode is looked for, at each connection; nil for a keychain whose places were named.
    private let system: SystemMode?
    private let connection = Guarded<Connection?>(nil)
    private let isClosedToTests = Atomic<Bool>(false)
    private let agent = Guarded<(any PromptAgent)?>(nil)
    /// Where the secrets of results find room.
    let room: LockedRoom

    /// Names a keychain; connects to nothing yet.
    ///
    /// - Parameters:
    ///   - layout: where it lives; nil for where the environment says, or the system's daemon has it.
    ///   - daemon: what to start when no daemon listens.
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

    init(layout: Layout?, daemon: DaemonLocation, system: SystemMode?, room: LockedRoom = .shared) {
        self.layout = layout
        self.daemon = daemon
        self.system = system
        self.room = room
    }

    /// What the daemon complains of in this user's settings; nil when it accepts them, and in system mode, where a user has
    /// none.
    public static func configurationFault() -> String? {
        guard shared.systemInForce == nil, let layout = shared.layout else { return nil }
        return DaemonStart.configurationFault(at: shared.daemon, for: layout)
    }

    /// A number for a new context: different from all others in this process.
    public func makeContextNumber() -> UInt64 {
        Self.lastContextNumber.add(1, ordering: .relaxed).newValue
    }

    /// Has a request that finds nobody to draw its prompt start this agent, and be sent once more.
    package func drawPrompts(by agent: any PromptAgent) { self.agent.withLock { $0 = agent } }

    /// Sends a request and hands its replies to `sink`.
    func call<Body: WireBody & ~Copyable>(
        _ method: Method,
        _ body: borrowing Body,
        replies sink: any ReplySink,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) {
        do throws(KeychainError) {
            try callOnce(method, body, replies: sink, cancellation: cancellation)
        } catch {
            // Nothing was released before the prompt, so `sink` is as it was.
            guard error.cause?.known == .noAgent, systemInForce != nil, let agent = agent.withLock({ $0 })
            else { throw error }
            try agent.start(insteadOf: error)
            try callOnce(method, body, replies: sink, cancellation: cancellation)
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
        // The second one was made just now, where the first is of a daemon that is gone, or that could not look which program
        // this is.
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
                    // Nothing was done, so `sink` is as it was; the daemon looks anew at who connects anew.
                    if !isNew { continue }
                }
                isLost = error.status == .internalComponent
                // What drew the prompt did not end in order.
                if error.authentication?.code == .systemCancel, agent.withLock({ $0 })?.wasKilled == true {
                    isLost = true
                }
                throw error
            }
        }
        throw .connectionLost("hung up")
    }

    /// Sends a request and returns the one reply to it.
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

    /// Sends a request for which no prompt comes, and so without a look at the terminal; not again where the daemon is gone.
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

    /// Sends a request from a thread that may not wait, and looks for its replies until `deadline`.
    ///
    /// - Returns: nil where nothing was sent, because that means to wait.
    func begin<Body: WireBody & ~Copyable>(
        _ method: Method,
        _ body: borrowing Body,
        replies sink: any ReplySink,
        until deadline: ContinuousClock.Instant
    ) throws(KeychainError) -> BegunCall? {
        let connection = connection.withLockIfFree { slot in
            slot.flatMap { $0.isUsable ? $0 : nil }
        }
        guard let connection, let connection, !isClosedToTests.load(ordering: .acquiring) else { return nil }
        return try connection.begin(method, body, replies: sink, until: deadline)
    }

    /// The same keychain on a connection of its own, which starts no daemon.
    package func separate() -> RemoteKeychain {
        let other = RemoteKeychain(layout: layout, daemon: .none, system: system, room: room)
        if isClosedToTests.load(ordering: .acquiring) { other.closeToTests() }
        return other
    }

    /// Whether there is a connection that can be used.
    var isConnected: Bool {
        connection.withLock { $0.map { $0.isUsable && !$0.isHungUp } ?? false }
    }

    /// Has every call from now on fail, as a test that missed its own keychain would otherwise meet the user's.
    package func closeToTests() { isClosedToTests.store(true, ordering: .releasing) }

    /// Has the next request connect anew; those that are under way on a connection stay there.
    func retire(_ connection: Connection) {
        self.connection.withLock { slot in
            if slot === connection { slot = nil }
        }
    }

    /// A connection, and whether it was made just now.
    private func usableConnection() throws(KeychainError) -> (connection: Connection, isNew: Bool) {
        if isClosedToTests.load(ordering: .acquiring) {
            throw .notAvailable(.outsideTestKeychain, detail: "make the call inside TemporaryKeychain.use")
        }
        return try connection.withLock { slot throws(KeychainError) in
            if let connection = slot, connection.isUsable { return (connection, false) }
            slot = nil
            let connection = try connect()
            slot = connection
            return (connection, true)
        }
    }

    /// System mode, where it is in force now: an administrator can turn it on and off while this process runs.
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

    /// Connects to the system's daemon, which no client starts: the service manager does, when somebody connects.
    private func connect(to system: SystemMode) throws(KeychainError) -> Connection {
        try prepareMemory()
        // A daemon that just ended, having nothing to do, may have taken the first connection with it.
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
