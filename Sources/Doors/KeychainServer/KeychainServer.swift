import CLinux
package import Desk
import Glibc
package import KeychainModel
package import PeerSockets
import SecretMemory
import Threads

/// A door to the desk: accepts clients on a socket, identifies them, and serves each on its own thread.
///
/// ```swift
/// let server = try KeychainServer(desk: desk, owner: .ofThisProcess())
/// try server.start(try Listener(at: layout))
/// await server.stop()
/// ```
package final class KeychainServer: Sendable {
    private struct State {
        var connections: [UInt64: Connection] = [:]
        /// How many more were accepted and are being identified.
        var arriving: [AskerRole: Int] = [:]
        var isStopping = false
        var isAccepting = false
        var idleSince = MonotonicTime.now()
        /// Whether the socket's path names another file, and when the log last recorded it.
        var isNameLost = false
        var lastLoss: MonotonicTime?
        var whenQuiet: [CheckedContinuation<Void, Never>] = []

        /// Whether no client is connected or being identified.
        var isDeserted: Bool { connections.isEmpty && arriving.isEmpty }

        /// The connections of a role: those served and those being identified.
        func count(of role: AskerRole) -> Int {
            connections.values.count { $0.visit.role == role } + arriving[role, default: 0]
        }

        mutating func arrive(_ role: AskerRole) { arriving[role, default: 0] += 1 }

        mutating func leave(_ role: AskerRole) {
            arriving[role, default: 0] -= 1
            if arriving[role] == 0 { arriving[role] = nil }
        }
    }

    private let desk: Desk
    private let limits: RequestLimits
    private let identity: ClientIdentity
    private let namer: any ProgramNamer
    private let owner: Owner
    private let agentGroup: UInt32?
    private let acceptor: Acceptor
    private let state = Guarded(State())

    /// Prepares to serve the programs of `owner` only.
    ///
    /// `namer` identifies the programs; nil reads `/proc` directly, which a daemon of the same user may do. A program
    /// of `owner` whose group is `agentGroup` is an agent; nil if there are no agents.
    package init(
        desk: Desk,
        limits: RequestLimits = RequestLimits(),
        identity: ClientIdentity = ClientIdentity(),
        namer: (any ProgramNamer)? = nil,
        owner: Owner,
        agentGroup: UInt32? = nil
    ) throws(ServerError) {
        self.desk = desk
        self.limits = limits
        self.identity = identity
        self.namer = namer ?? ProcessNamer()
        self.owner = owner
        self.agentGroup = agentGroup
        acceptor = try Acceptor()
    }

    /// Starts to accept clients on a new thread.
    package func start(_ listener: consuming Listener) throws(ServerError) {
        state.withLock { $0.isAccepting = true }
        do throws(ServerError) {
            try acceptor.start(listener) { [self] event in
                switch event {
                case .client(let socket): serve(socket)
                case .refused(let reason): record(nil, reason)
                case .nameChecked(let isLost): noteName(isLost: isLost)
                case .ended:
                    state.withLock { $0.isAccepting = false }
                    tellWhenQuiet()
                }
            }
        } catch {
            state.withLock { $0.isAccepting = false }
            throw error
        }
    }

    /// Serves a connected socket, even one made elsewhere, and closes it at the end.
    package func serve(_ socket: CInt) {
        do throws(ServerError) {
            try admit(socket)
        } catch {
            record(nil, error.detail)
            close(socket)
        }
    }

    /// How long no client has been connected; nil while one is.
    package var idleTime: Duration? {
        state.withLock { $0.isDeserted ? $0.idleSince.age : nil }
    }

    /// Stops accepting, cancels all requests (clients get `systemCancel`) and waits for the last thread.
    ///
    /// - Parameter grace: after this time, connections whose peers do not read are shut down.
    package func stop(grace: Duration = .seconds(5)) async {
        state.withLock { $0.isStopping = true }
        acceptor.stop()
        for connection in connections { connection.stop() }
        let cut = Task {
            try await Task.sleep(for: grace)
            for connection in connections { connection.cutOff() }
        }
        await withCheckedContinuation { continuation in
            state.withLock { $0.whenQuiet.append(continuation) }
            tellWhenQuiet()
        }
        cut.cancel()
    }

    private var connections: [Connection] { state.withLock { Array($0.connections.values) } }

    /// Records, once for each loss, that the socket's path no longer leads here: another program may answer instead.
    ///
    /// The status does not report it, because a client that queries it reaches that other program.
    private func noteName(isLost: Bool) {
        let isDue = state.withLock { state in
            defer { state.isNameLost = isLost }
            guard isLost, !state.isNameLost else { return false }
            if let last = state.lastLoss, last.age < limits.refusalPause { return false }
            state.lastLoss = .now()
            return true
        }
        guard isDue else { return }
        desk.services.audit.record(
            AuditEvent(.tamperDetected, detail: "socket: its path names another file, or none")
        )
    }

    // MARK: Admission

    private func admit(_ socket: CInt) throws(ServerError) {
        guard fcntl(socket, F_SETFL, 0) == 0 else { throw ServerError(call: "fcntl", errno: errno) }
        let peer = try PeerCredentials(of: socket)
        // Each message then carries its sender's credentials. Accepted sockets inherit this from the listener.
        guard clinux_pass_credentials(socket) == 0 else {
            throw ServerError(call: "setsockopt SO_PASSCRED", errno: errno)
        }
        // No other user is served, not even root, which has other ways.
        guard peer.uid == owner.uid else {
            return refuse(socket, peer, "another user", .missingEntitlement)
        }
        let role = role(of: peer)
        let isFull = state.withLock { state in
            // Agents have their own limit, so that apps cannot use up their connections.
            guard state.count(of: role) < limits.connections(of: role) else { return true }
            state.arrive(role)
            return false
        }
        guard !isFull else {
            return refuse(socket, peer, "too many connections", .allocate, cause: .tooManyConnections)
        }
        // The rest runs on the client's own thread: naming its program delays no other client.
        let arrival = Guarded<PeerCredentials?>(peer)
        let failure = BlockingThread.start { [self] in serve(socket, of: arrival, in: role) }
        guard failure != 0 else { return }
        hasLeft(role)
        throw ServerError(call: "pthread_create", errno: failure)
    }

    private func role(of peer: PeerCredentials) -> AskerRole { agentGroup == peer.gid ? .agent : .app }

    /// Identifies the peer; the pidfd is closed afterwards, so that a served connection holds none.
    private func asker(of arrival: Guarded<PeerCredentials?>, in role: AskerRole) -> Asker {
        guard let peer = arrival.withLock({ $0.take() }) else { preconditionFailure("it arrives once") }
        return asker(peer, in: role, namedBy: namer)
    }

    private func asker(
        _ peer: PeerCredentials,
        in role: AskerRole,
        namedBy namer: (any ProgramNamer)?
    ) -> Asker {
        let look = peer.process.flatMap { namer?.look(at: $0) } ?? .nothing
        return identity.asker(uid: peer.uid, pid: peer.pid, look, in: role)
    }

    /// Serves a client of the owner until it disconnects.
    private func serve(_ socket: CInt, of arrival: Guarded<PeerCredentials?>, in role: AskerRole) {
        let connection: Connection
        do throws(ServerError) {
            let asker = asker(of: arrival, in: role)
            connection = try Connection(socket, of: asker, at: desk, limits: limits)
        } catch {
            record(nil, error.detail)
            close(socket)
            return hasLeft(role)
        }
        let number = connection.visit.number
        let isStopping = state.withLock { state in
            state.leave(role)
            if !state.isStopping { state.connections[number] = connection }
            return state.isStopping
        }
        if !isStopping {
            var loop = ConnectionLoop(connection)
            loop.run()
        }
        remove(connection, number: number)
    }

    /// Removes an accepted connection that is not served.
    private func hasLeft(_ role: AskerRole) {
        state.withLock { state in
            state.leave(role)
            if state.isDeserted { state.idleSince = .now() }
        }
        tellWhenQuiet()
    }

    private func remove(_ connection: Connection, number: UInt64) {
        connection.close()
        state.withLock { state in
            state.connections[number] = nil
            if state.isDeserted { state.idleSince = .now() }
        }
        tellWhenQuiet()
    }

    /// Refuses a client with an error, if that can be sent without waiting.
    private func refuse(
        _ socket: CInt,
        _ peer: PeerCredentials,
        _ reason: String,
        _ status: Status,
        cause: DriverCause? = nil
    ) {
        let asker = asker(peer, in: role(of: peer), namedBy: namer.waits ? nil : namer)
        record(asker.caller, reason)
        let error = KeychainError(status, cause: cause, remedy: .retry)
        try? Frame.send(RequestHandler.failed(error, id: 0), to: socket, waits: false) {
            () throws(WireError) in
            throw .closed
        }
        close(socket)
    }

    private func record(_ caller: Caller?, _ reason: String) {
        desk.failures.recordRefusal(reason, by: caller)
    }

    private func tellWhenQuiet() {
        let waiting = state.withLock { state in
            guard state.isStopping, !state.isAccepting, state.isDeserted else {
                return [CheckedContinuation<Void, Never>]()
            }
            defer { state.whenQuiet = [] }
            return state.whenQuiet
        }
        for continuation in waiting { continuation.resume() }
    }
}
