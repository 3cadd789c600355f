import KeychainModel
import MessageBus

/// Watches one user's login sessions by logind's signals, and sleep.
///
/// Nothing but the lid is polled: a session's properties are read when it is new, when logind or the bus came back, after the wake-up, and
/// before a prompt ends because its session is not active.
/// Signals of others than the verified owner of logind's name are ignored.
///
/// ```swift
/// let watch = SessionWatch(busAddress: .system, userID: 1000, delaysSleep: true)
/// async let _: Void = watch.run()
/// for await departure in watch.departures {
///     await authenticator.lock()
///     if departure == .suspend { await watch.allowSleep() }
/// }
/// ```
package actor SessionWatch: SeatSessions {
    private let executor = BusExecutor()
    /// The thread that reads the bus.
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// Each time the user left; ends with ``run()``.
    package nonisolated let departures: AsyncStream<Departure>
    nonisolated let departureSink: AsyncStream<Departure>.Continuation
    private let closings: AsyncStream<Void>
    private let closingSink: AsyncStream<Void>.Continuation

    private let busAddress: BusAddress
    private let userID: UInt32
    private let delaysSleep: Bool
    private let callTimeout: Duration
    private let onForgedSignal: @Sendable () -> Void
    private let onFault: @Sendable (String) -> Void

    /// Whether sessions and sleep are announced to this process.
    private enum Hearing {
        case unknown
        case heard
        /// Not, with the reason.
        case unheard(String)
    }

    private var hearing = Hearing.unknown
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private(set) var connection: FprintConnection?
    private var table = SessionTable()
    /// Told of each change of the table.
    private var changeSinks: [UInt64: AsyncStream<Void>.Continuation] = [:]
    private var lastSink: UInt64 = 0
    /// Whether the sessions were read since the connection was made.
    private var hasRead = false

    /// Creates a watch; nothing is sent before ``run()``.
    ///
    /// - Parameters:
    ///   - busAddress: the bus that logind is on.
    ///   - userID: the user whose sessions are watched.
    ///   - delaysSleep: whether sleep is announced too, and waits for ``allowSleep()`` for a limited time.
    ///   - callTimeout: how long logind may take to reply.
    ///   - onForgedSignal: called for each of logind's signals that another sender sent.
    ///   - onFault: called with the reason when sessions cannot be read or the connection was lost.
    package init(
        busAddress: BusAddress,
        userID: UInt32,
        delaysSleep: Bool,
        callTimeout: Duration = .seconds(10),
        onForgedSignal: @escaping @Sendable () -> Void = {},
        onFault: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.busAddress = busAddress
        self.userID = userID
        self.delaysSleep = delaysSleep
        self.callTimeout = callTimeout
        self.onForgedSignal = onForgedSignal
        self.onFault = onFault
        (departures, departureSink) = AsyncStream.makeStream(
            of: Departure.self,
            bufferingPolicy: .bufferingNewest(16)
        )
        (closings, closingSink) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Connects, and again at growing intervals whenever the bus was lost, until the task is cancelled.
    package func run() async {
        var pause = ReconnectPause()
        var closing = closings.makeAsyncIterator()
        while !Task.isCancelled {
            if connect() {
                await read()
                _ = await closing.next(isolation: self)
                if hasRead { pause = ReconnectPause() }
            }
            guard await pause.wait() else { break }
        }
        connection?.close()
        departureSink.finish()
    }

    /// Why sessions and sleep are not announced now, in words; nil if they are.
    ///
    /// Before the first reply it waits for it, for at most a second.
    package func fault() async -> String? {
        await waitForHearing()
        return switch hearing {
        case .unknown: "logind does not reply"
        case .heard: nil
        case .unheard(let reason): reason
        }
    }

    /// Waits for logind's first reply, for at most a second.
    private func waitForHearing() async {
        guard case .unknown = hearing else { return }
        let limit = Task {
            guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
            self.resumeWaiting()
        }
        await withCheckedContinuation { waiting.append($0) }
        limit.cancel()
    }

    private func learn(_ next: Hearing) {
        hearing = next
        resumeWaiting()
        for sink in changeSinks.values { sink.yield() }
        if case .unheard(let reason) = next { onFault(reason) }
    }

    private func resumeWaiting() {
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    /// Lets the machine sleep.
    package func allowSleep() { connection?.allowSleep() }

    private static let noLogind = "logind is not on the bus"

    private func connect() -> Bool {
        hasRead = false
        do throws(BusError) {
            connection = try FprintConnection(
                busAddress,
                executor: executor,
                callTimeout: callTimeout,
                watchesSessions: true,
                onEvent: { [weak self] event in self?.assumeIsolated { $0.handle(event) } }
            )
            return true
        } catch {
            learn(.unheard("no bus: \(FingerprintError(error).message)"))
            return false
        }
    }

    private func handle(_ event: FprintConnection.Event) {
        switch event {
        case .forged: onForgedSignal()
        case .suspend: if delaysSleep { departureSink.yield(.suspend) }
        case .logindReady: Task { await self.read() }
        case .session(.unknown(let path)): Task { await self.readNew(path) }
        case .session(.removed(let path)): change { $0.remove(path) }
        case .session(.lock(let path)): change { $0.lock(path) }
        case .session(.changed(let path, let change)): self.change { $0.announce(path, change) }
        case .closed:
            connection = nil
            if hasRead { learn(.unheard("the connection to the bus was lost")) }
            closingSink.yield()
        case .logindLost: learn(.unheard(Self.noLogind))
        case .device, .ownerLost, .ownerAppeared: break
        }
    }

    /// Changes the table, and reports a departure and that there was a change.
    private func change(_ body: (inout SessionTable) -> Departure?) {
        let before = table.sessions
        if let departure = body(&table) { departureSink.yield(departure) }
        guard table.sessions != before else { return }
        for sink in changeSinks.values { sink.yield() }
    }

    /// Whether logind is heard and a desktop of the user has announced by `LockedHint` that its screen was locked: then that is
    /// when it is, and a screen saver may only have blanked it.
    package var announcesLocks: Bool {
        guard case .heard = hearing else { return false }
        return table.hasHeardLock
    }

    // MARK: Seats

    /// Whether a prompt of a login would be shown in a session that is not active on its seat.
    ///
    /// True only after the sessions were read anew: not every property is announced, and a switch may have been missed. They are
    /// also read for a login without a session, which may have begun a moment ago. Before logind's first reply it waits for
    /// it, for at most a second.
    package func isAway(_ login: UInt32?) async -> Bool {
        await waitForHearing()
        guard isBehind(login) || !table.has(login) else { return false }
        await refresh()
        return isBehind(login)
    }

    private func isBehind(_ login: UInt32?) -> Bool {
        guard case .heard = hearing else { return false }
        return table.isAway(login)
    }

    /// Waits until a login is away; false if the task was cancelled before.
    package func waitUntilAway(_ login: UInt32?) async -> Bool {
        let (changes, sink) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        lastSink += 1
        let number = lastSink
        changeSinks[number] = sink
        defer { changeSinks[number] = nil }
        var change = changes.makeAsyncIterator()
        repeat {
            if await isAway(login) { return !Task.isCancelled }
        } while await change.next(isolation: self) != nil
        return false
    }

    // MARK: Reading

    /// Reads all sessions of the user, without a switch of threads at each reply.
    private func read() async {
        await withTaskExecutorPreference(executor) { await self.readAll() }
    }

    /// Reads all sessions again; what is known stays if logind does not reply.
    private func refresh() async {
        await withTaskExecutorPreference(executor) { await self.readAgain() }
    }

    private func readAgain() async {
        guard let owner = try? await connection?.logindOwner(), let bus = connection?.bus else { return }
        let manager = Bus.Target(owner, Login1.path, Login1.managerInterface)
        guard let reply = try? await bus.call(manager, "ListSessions"),
            let paths = try? Self.paths(of: userID, in: reply)
        else { return }
        change { $0.keep(paths) }
        for path in paths { await read(path, of: owner, isKnown: true) }
    }

    private func readNew(_ path: String) async {
        await withTaskExecutorPreference(executor) { await self.askLogind(about: path) }
    }

    private func askLogind(about path: String) async {
        guard let owner = try? await connection?.logindOwner() else { return }
        await read(path, of: owner)
    }

    private func readAll() async {
        guard let connection else { return }
        let owner: String
        let paths: [String]
        do {
            guard let found = try await connection.logindOwner() else {
                return learn(.unheard(Self.noLogind))
            }
            owner = found
            if delaysSleep { await connection.findLogind() }
            guard let bus = connection.bus else { return }
            let manager = Bus.Target(owner, Login1.path, Login1.managerInterface)
            paths = try Self.paths(of: userID, in: try await bus.call(manager, "ListSessions"))
        } catch let error as FingerprintError {
            return learn(.unheard("logind: \(error.code.rawValue)"))
        } catch {
            return learn(.unheard("logind: ListSessions failed"))
        }
        change { $0.keep(paths) }
        for path in paths { await read(path, of: owner) }
        hasRead = true
        learn(.heard)
    }

    /// Reads a session's properties; what is known of it stays if `isKnown` and logind does not reply.
    private func read(_ path: String, of owner: String, isKnown: Bool = false) async {
        guard let bus = connection?.bus else { return }
        table.request(path)
        let session = Bus.Target(owner, path, propertiesInterface)
        let reply = try? await bus.call(session, "GetAll", [.string(Login1.sessionInterface)])
        if isKnown, reply == nil { return table.abandon(path) }
        let found = reply?.first.flatMap { Self.session($0, of: userID) }
        change { $0.receive(path, found) }
    }

    /// The paths in the reply to `ListSessions`, `a(susso)`.
    private static func paths(of userID: UInt32, in reply: [BusValue]) throws(BusError) -> [String] {
        guard case .array(_, let sessions)? = reply.first else { throw .malformed }
        return sessions.compactMap { session in
            guard case .structure(let fields) = session, fields.count == 5, fields[1] == .uint32(userID)
            else { return nil }
            return fields[4].text
        }
    }

    /// A session from its properties; nil if it is another user's, or none of a user, such as a greeter.
    private static func session(_ properties: BusValue, of userID: UInt32) -> SessionTable.Session? {
        guard case .structure(let user)? = properties.property("User"), user.first == .uint32(userID),
            properties.property("Class")?.text?.hasPrefix("user") ?? true
        else { return nil }
        return SessionTable.Session(
            hasScreen: ["x11", "wayland", "mir"].contains(properties.property("Type")?.text),
            // Desktops that do not announce it still send `Lock`.
            isLocked: properties.property("LockedHint")?.truth ?? false,
            hasSeat: seat(properties.property("Seat")) != "",
            isActive: properties.property("Active")?.truth ?? true,
            isClosing: properties.property("State")?.text == "closing",
            login: login(properties.property("Audit"))
        )
    }

    /// The name in `Seat`, `(so)`; empty without a seat.
    private static func seat(_ value: BusValue?) -> String {
        guard case .structure(let fields)? = value else { return "" }
        return fields.first?.text ?? ""
    }

    /// The number in `Audit`; nil for the two numbers of no audit session.
    private static func login(_ value: BusValue?) -> UInt32? {
        guard case .uint32(let number)? = value, number != 0, number != UInt32.max else { return nil }
        return number
    }
}
