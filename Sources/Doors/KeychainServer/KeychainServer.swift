import CLinux
package import Desk
import Glibc
package import KeychainModel
package import PeerSockets
import SecretMemory

/// A door to the desk: accepts clients on a socket, identifies them, and serves each on its own thread.
///
/// ```swift
/// let server = try KeychainServer(desk: desk, owner: .ofThisProcess())
/// try server.start(try Listener(at: layout))
/// await server.stop()
/// ```
package final class KeychainServer: Sendable {
    /// Whether the socket's path names another file, and when the log last recorded it.
    private struct SocketName {
        var isLost = false
        var lastLoss: MonotonicTime?
    }

    private let desk: Desk
    private let limits: RequestLimits
    private let identity: ClientIdentity
    private let namer: any ProgramNamer
    private let owner: Owner
    private let agentGroup: UInt32?
    private let doorGroup: UInt32?
    private let clients: ClientRegistry<AskerRole, Connection>
    private let name = Guarded(SocketName())

    /// Prepares to serve the programs of `owner` only.
    ///
    /// `namer` identifies the programs; nil reads `/proc` directly, which a daemon of the same user may do. A program
    /// of `owner` whose group is `agentGroup` is an agent, and one whose group is `doorGroup` a door; nil for none.
    package init(
        desk: Desk,
        limits: RequestLimits = RequestLimits(),
        identity: ClientIdentity = ClientIdentity(),
        namer: (any ProgramNamer)? = nil,
        owner: Owner,
        agentGroup: UInt32? = nil,
        doorGroup: UInt32? = nil
    ) throws(ServerError) {
        self.desk = desk
        self.limits = limits
        self.identity = identity
        self.namer = namer ?? ProcessNamer()
        self.owner = owner
        self.agentGroup = agentGroup
        self.doorGroup = doorGroup
        clients = try ClientRegistry()
    }

    /// Starts to accept clients on a new thread.
    package func start(_ listener: consuming Listener) throws(ServerError) {
        try clients.start(listener) { [self] event in
            switch event {
            case .client(let socket): serve(socket)
            case .refused(let reason): record(nil, reason)
            case .nameChecked(let isLost): noteName(isLost: isLost)
            }
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
    package var idleTime: Duration? { clients.idleTime }

    /// Stops accepting, cancels all requests (clients get `systemCancel`) and waits for the last thread.
    ///
    /// - Parameter grace: after this time, connections whose peers do not read are shut down.
    package func stop(grace: Duration = .seconds(5)) async {
        clients.stopAccepting()
        for connection in clients.clients { connection.stop() }
        let cut = Task {
            try await Task.sleep(for: grace)
            for connection in clients.clients { connection.cutOff() }
        }
        await clients.waitUntilQuiet()
        cut.cancel()
    }

    /// Records, once for each loss, that the socket's path no longer leads here: another program may answer instead.
    ///
    /// The status does not report it, because a client that queries it reaches that other program.
    private func noteName(isLost: Bool) {
        let isDue = name.withLock { name in
            defer { name.isLost = isLost }
            guard isLost, !name.isLost else { return false }
            if let last = name.lastLoss, last.age < limits.refusalPause { return false }
            name.lastLoss = .now()
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
        // No other user is served, not even root, which has other ways.
        guard peer.uid == owner.uid else {
            return refuse(socket, peer, "another user", .missingEntitlement)
        }
        let role = role(of: peer)
        // Agents have their own limit, so that apps cannot use up their connections.
        guard clients.arrive(role, atMost: limits.connections(of: role)) else {
            return refuse(socket, peer, "too many connections", .allocate, cause: .tooManyConnections)
        }
        try clients.onThread(of: peer, role) { [self] peer in
            asker(peer, in: role, namedBy: namer)
        } serve: { [self] asker in
            serve(socket, of: asker, in: role)
        }
    }

    private func role(of peer: PeerCredentials) -> AskerRole {
        switch peer.gid {
        case agentGroup: .agent
        case doorGroup: .door
        default: .app
        }
    }

    /// The program of a process, if that is still the one that the door saw.
    private func represented(_ program: RepresentedProgram) -> Asker {
        let handle = clinux_pidfd_open(program.process)
        var look = ProgramLook.nothing
        if handle >= 0 {
            let found = namer.look(at: ClientProcess(pid: program.process, handle: handle))
            if found.processStart == program.start { look = found }
        }
        return identity.represented(uid: owner.uid, pid: program.process, look)
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
    private func serve(_ socket: CInt, of asker: Asker, in role: AskerRole) {
        let connection: Connection
        do throws(ServerError) {
            connection = try Connection(socket, of: asker, at: desk, limits: limits) { [self] in
                represented($0)
            }
        } catch {
            record(nil, error.detail)
            close(socket)
            return clients.leave(role)
        }
        clients.serve(connection, connection.visit.number, as: role) {
            var loop = ConnectionLoop(connection)
            loop.run()
        } end: {
            connection.close()
        }
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
}
