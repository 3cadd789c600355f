import KeychainModel

/// Watches one user's login sessions by logind's signals, and sleep.
///
/// Nothing is polled: a session's properties are read when it is new, when logind or the bus came back, and after the wake-up.
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
package actor SessionWatch {
    private let executor = BusExecutor()
    /// The thread that reads the bus.
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// Each time the user left; ends with ``run()``.
    package nonisolated let departures: AsyncStream<Departure>
    private nonisolated let departureSink: AsyncStream<Departure>.Continuation
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
    private var connection: FprintConnection?
    private var table = SessionTable()
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
        var pause = Self.shortestPause
        var closing = closings.makeAsyncIterator()
        while !Task.isCancelled {
            if connect() {
                await read()
                _ = await closing.next(isolation: self)
                if hasRead { pause = Self.shortestPause }
            }
            guard (try? await Task.sleep(for: pause)) != nil else { break }
            pause = min(pause * 2, Self.longestPause)
        }
        connection?.close()
        departureSink.finish()
    }

    /// Why sessions and sleep are not announced now, in words; nil if they are.
    ///
    /// Before the first reply it waits for it, for at most a second.
    package func fault() async -> String? {
        if case .unknown = hearing {
            let limit = Task {
                guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
                self.resumeWaiting()
            }
            await withCheckedContinuation { waiting.append($0) }
            limit.cancel()
        }
        return switch hearing {
        case .unknown: "logind does not reply"
        case .heard: nil
        case .unheard(let reason): reason
        }
    }

    private func learn(_ next: Hearing) {
        hearing = next
        resumeWaiting()
        if case .unheard(let reason) = next { onFault(reason) }
    }

    private func resumeWaiting() {
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    /// Lets the machine sleep.
    package func allowSleep() { connection?.allowSleep() }

    private static let noLogind = "logind is not on the bus"
    private static let shortestPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)

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
        case .session(.removed(let path)): tell(table.remove(path))
        case .session(.lock(let path)): tell(table.lock(path))
        case .session(.hint(let path, let isLocked)): tell(table.hint(path, isLocked: isLocked))
        case .closed:
            connection = nil
            if hasRead { learn(.unheard("the connection to the bus was lost")) }
            closingSink.yield()
        case .logindLost: learn(.unheard(Self.noLogind))
        case .device, .ownerLost, .ownerAppeared: break
        }
    }

    private func tell(_ departure: Departure?) {
        if let departure { departureSink.yield(departure) }
    }

    // MARK: Reading

    /// Reads all sessions of the user, without a switch of threads at each reply.
    private func read() async {
        await withTaskExecutorPreference(executor) { await self.readAll() }
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
        tell(table.keep(paths))
        for path in paths { await read(path, of: owner) }
        hasRead = true
        learn(.heard)
    }

    private func read(_ path: String, of owner: String) async {
        guard let bus = connection?.bus else { return }
        table.request(path)
        let session = Bus.Target(owner, path, propertiesInterface)
        let reply = try? await bus.call(session, "GetAll", [.string(Login1.sessionInterface)])
        tell(table.receive(path, reply?.first.flatMap { Self.session($0, of: userID) }))
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
            isLocked: properties.property("LockedHint")?.truth ?? false
        )
    }
}
