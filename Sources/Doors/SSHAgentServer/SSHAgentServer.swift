import CLinux
package import Desk
import Glibc
package import KeychainModel
package import PeerSockets
import SecretMemory
import Threads

/// The ssh-agent (RFC 9987): a door to the named keys, on a socket of its own.
///
/// It lists the keys and signs logins and messages with them, each under the key's rule; keys are made and deleted by the command.
/// The box names the program, the user and the host, which the client has proved by binding its session to the agent.
///
/// ```swift
/// let agent = try SSHAgentServer(desk: desk, identity: identity, owner: owner, names: names, notes: notes)
/// try agent.start(try Listener(besideMain: layout.agentSocket))
/// await agent.stop()
/// ```
package final class SSHAgentServer: Sendable {
    private struct State {
        var connections: [UInt64: AgentConnection] = [:]
        /// How many more were accepted and are being identified.
        var arriving = 0
        var isStopping = false
        var isAccepting = false
        var idleSince = MonotonicTime.now()
        var whenQuiet: [CheckedContinuation<Void, Never>] = []

        var isDeserted: Bool { connections.isEmpty && arriving == 0 }
    }

    /// Connections of one user at a time; the next one is refused.
    private static let mostConnections = 128

    private let desk: Desk
    private let identity: ClientIdentity
    private let namer: any ProgramNamer
    private let owner: Owner
    private let names: HostNames
    private let list: KeyList
    private let acceptor: Acceptor
    private let state = Guarded(State())

    /// Prepares to serve the programs of `owner` only.
    ///
    /// - Parameters:
    ///   - desk: the desk.
    ///   - identity: assigns the programs their groups.
    ///   - namer: identifies the programs; nil reads `/proc` directly.
    ///   - owner: whose programs are served.
    ///   - names: the names of hosts.
    ///   - notes: the public keys that are listed before the first unlock.
    /// - Throws: ``ServerError`` if the kernel has no descriptor left.
    package init(
        desk: Desk,
        identity: ClientIdentity,
        namer: (any ProgramNamer)? = nil,
        owner: Owner,
        names: HostNames,
        notes: any PublicKeyNotes
    ) throws(ServerError) {
        self.desk = desk
        self.identity = identity
        self.namer = namer ?? ProcessNamer()
        self.owner = owner
        self.names = names
        list = KeyList(notes)
        acceptor = try Acceptor()
    }

    /// Starts to accept clients on a new thread.
    package func start(_ listener: consuming Listener) throws(ServerError) {
        state.withLock { $0.isAccepting = true }
        do throws(ServerError) {
            try acceptor.start(listener) { [self] event in
                switch event {
                case .client(let socket): serve(socket)
                case .refused(let reason): desk.failures.recordRefusal("ssh-agent: \(reason)", by: nil)
                case .nameChecked: break
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

    /// Serves a connected socket, and closes it at the end.
    package func serve(_ socket: CInt) {
        do throws(ServerError) {
            try admit(socket)
        } catch {
            desk.failures.recordRefusal("ssh-agent: \(error.detail)", by: nil)
            close(socket)
        }
    }

    /// How long no client has been connected; nil while one is.
    package var idleTime: Duration? {
        state.withLock { $0.isDeserted ? $0.idleSince.age : nil }
    }

    /// Stops accepting, ends all connections with their prompts, and waits for the last thread.
    package func stop() async {
        state.withLock { $0.isStopping = true }
        acceptor.stop()
        for connection in state.withLock({ Array($0.connections.values) }) { connection.stop() }
        await withCheckedContinuation { continuation in
            state.withLock { $0.whenQuiet.append(continuation) }
            tellWhenQuiet()
        }
    }

    private func admit(_ socket: CInt) throws(ServerError) {
        let peer = try PeerCredentials(of: socket)
        // Accepted sockets inherit it from the listener.
        guard clinux_pass_credentials(socket) == 0 else {
            throw ServerError(call: "setsockopt SO_PASSCRED", errno: errno)
        }
        let isFull = state.withLock { state in
            guard state.connections.count + state.arriving < Self.mostConnections else { return true }
            state.arriving += 1
            return false
        }
        guard !isFull else { throw ServerError(.system, "too many connections") }
        guard peer.uid == owner.uid else {
            leave()
            throw ServerError(.system, "a client of another user")
        }
        // Naming its program delays no other client.
        let arrival = Guarded<PeerCredentials?>(peer)
        let failure = BlockingThread.start { [self] in
            guard let peer = arrival.withLock({ $0.take() }) else { return }
            serve(socket, of: peer)
        }
        guard failure != 0 else { return }
        leave()
        throw ServerError(call: "pthread_create", errno: failure)
    }

    private func serve(_ socket: CInt, of peer: PeerCredentials) {
        let look = peer.process.map { namer.look(at: $0) } ?? .nothing
        let asker = identity.asker(uid: peer.uid, pid: peer.pid, look, in: .app, keyDoor: "ssh-agent")
        let client = AgentConnection.Client(
            socket: socket,
            pid: peer.pid,
            terminal: look.terminal,
            asker: asker
        )
        let connection: AgentConnection
        do throws(ServerError) {
            connection = try AgentConnection(client, at: desk, names: names, list: list)
        } catch {
            desk.failures.recordRefusal("ssh-agent: \(error.detail)", by: asker.caller)
            close(socket)
            return leave()
        }
        let number = connection.visit.number
        let isStopping = state.withLock { state in
            state.arriving -= 1
            state.connections[number] = connection
            return state.isStopping
        }
        if !isStopping { connection.run() }
        connection.close()
        state.withLock { state in
            state.connections[number] = nil
            if state.isDeserted { state.idleSince = .now() }
        }
        tellWhenQuiet()
    }

    private func leave() {
        state.withLock { state in
            state.arriving -= 1
            if state.isDeserted { state.idleSince = .now() }
        }
        tellWhenQuiet()
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
