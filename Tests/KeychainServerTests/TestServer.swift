import Desk
import Glibc
import KeychainModel
import KeychainServer
import PeerSockets
import SecretMemory
import TouchstoneTesting

/// A server with scripted parts, and clients on socket pairs.
final class TestServer: Sendable {
    let server: KeychainServer
    let authenticator: ScriptedAuthenticator
    let vault: ScriptedVault
    let keys: ScriptedKeys
    let audit = ScriptedAudit()
    let watchers: Watchers

    init(
        authenticator: ScriptedAuthenticator = ScriptedAuthenticator(),
        vault: ScriptedVault = ScriptedVault(),
        keys: ScriptedKeys = ScriptedKeys(),
        identity: ClientIdentity = ClientIdentity(),
        owner: Owner = .ofThisProcess(),
        namer: (any ProgramNamer)? = nil,
        agents: AgentRoster? = nil,
        agentGroup: UInt32? = nil,
        adjust: (inout TestLimits) -> Void = { _ in }
    ) throws {
        var limits = TestLimits()
        // No deadline that a busy machine could exceed, unless a test sets one.
        limits.helloDeadline = Deadline.patience
        limits.frameDeadline = Deadline.patience
        limits.replyDeadline = Deadline.patience
        adjust(&limits)
        self.authenticator = authenticator
        self.vault = vault
        self.keys = keys
        let desk = Desk(
            services: KeychainServices(
                authenticator: authenticator,
                keybag: ScriptedKeybag(),
                vault: vault,
                keys: keys,
                audit: audit,
                daemonVersion: "test",
                promptFault: { $0 == nil ? nil : "somewhere" }
            ),
            limits: limits.desk,
            agents: agents
        )
        watchers = desk.watchers
        server = try KeychainServer(
            desk: desk,
            limits: limits.door,
            identity: identity,
            namer: namer,
            owner: owner,
            agentGroup: agentGroup
        )
    }

    /// A client that has not sent its hello.
    func connect() throws -> TestClient {
        var pair: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &pair) == 0
        else {
            throw TestFailure.system(errno)
        }
        server.serve(pair[0])
        return try TestClient(pair[1])
    }

    /// A client whose hello was accepted.
    func greetedClient() async throws -> TestClient {
        let client = try connect()
        try await client.hello()
        return client
    }
}

/// The limits of a server and of its desk, accessible by name.
@dynamicMemberLookup
struct TestLimits {
    var door = RequestLimits()
    var desk = DeskLimits(longestRequest: Frame.longest)

    subscript<Value>(dynamicMember path: WritableKeyPath<RequestLimits, Value>) -> Value {
        get { door[keyPath: path] }
        set { door[keyPath: path] = newValue }
    }

    subscript<Value>(dynamicMember path: WritableKeyPath<DeskLimits, Value>) -> Value {
        get { desk[keyPath: path] }
        set { desk[keyPath: path] = newValue }
    }
}

enum TestFailure: Error {
    case system(CInt)
    case timedOut(String)
    case closed
}

/// Waits for an effect of another thread or process.
func eventually(_ what: String, _ condition: () async throws -> Bool) async throws {
    try await Deadline.wait(for: what) { try await condition() ? true : nil }
}
