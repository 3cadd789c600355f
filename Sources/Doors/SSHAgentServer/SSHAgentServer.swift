package import Desk
import Glibc
package import KeychainModel
package import PeerSockets

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
    /// Connections of one user at a time; the next one is refused.
    private static let mostConnections = 128

    private let desk: Desk
    private let identity: ClientIdentity
    private let namer: any ProgramNamer
    private let owner: Owner
    private let names: HostNames
    private let list: KeyList
    private let clients: ClientRegistry<AskerRole, AgentConnection>

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
        clients = try ClientRegistry()
    }

    /// Starts to accept clients on a new thread.
    package func start(_ listener: consuming Listener) throws(ServerError) {
        try clients.start(listener) { [self] event in
            switch event {
            case .client(let socket): serve(socket)
            case .refused(let reason): record(reason)
            case .nameChecked: break
            }
        }
    }

    /// Serves a connected socket, and closes it at the end.
    package func serve(_ socket: CInt) {
        do throws(ServerError) {
            try admit(socket)
        } catch {
            record(error.detail)
            close(socket)
        }
    }

    /// How long no client has been connected; nil while one is.
    package var idleTime: Duration? { clients.idleTime }

    /// Stops accepting, ends all connections with their prompts, and waits for the last thread.
    package func stop() async {
        clients.stopAccepting()
        for connection in clients.clients { connection.stop() }
        await clients.waitUntilQuiet()
    }

    private func admit(_ socket: CInt) throws(ServerError) {
        let peer = try PeerCredentials(of: socket)
        guard peer.uid == owner.uid else { throw ServerError(.system, "a client of another user") }
        guard clients.arrive(.app, atMost: Self.mostConnections) else {
            throw ServerError(.system, "too many connections")
        }
        try clients.onThread(of: peer, .app) { [self] peer in
            client(peer, socket)
        } serve: { [self] client in
            serve(client)
        }
    }

    private func client(_ peer: PeerCredentials, _ socket: CInt) -> AgentConnection.Client {
        let look = peer.process.map { namer.look(at: $0) } ?? .nothing
        return AgentConnection.Client(
            socket: socket,
            pid: peer.pid,
            terminal: look.terminal,
            asker: identity.asker(uid: peer.uid, pid: peer.pid, look, in: .app, door: .sshAgent)
        )
    }

    private func serve(_ client: AgentConnection.Client) {
        let connection: AgentConnection
        do throws(ServerError) {
            connection = try AgentConnection(client, at: desk, names: names, list: list)
        } catch {
            record(error.detail, client.asker.caller)
            close(client.socket)
            return clients.leave(.app)
        }
        clients.serve(connection, connection.visit.number, as: .app) {
            connection.run()
        } end: {
            connection.close()
        }
    }

    private func record(_ reason: String, _ caller: Caller? = nil) {
        desk.failures.recordRefusal("ssh-agent: \(reason)", by: caller)
    }
}
