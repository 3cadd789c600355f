import Desk
import Glibc
import KeychainModel
import Testing

/// The agent role is determined by the group of the socket's peer; here all peers are this process.
@Suite("Permission to call the agent methods")
struct AgentRoleTests {
    private static let registration = AgentRegistration(
        .graphical(display: ":0", waylandDisplay: nil),
        version: "test"
    )
    private let roster = AgentRoster(AgentAdmission(pinentryProgram: nil, isForTests: true))

    @Test("another group, and per-user mode, are refused and logged, and the connection ends")
    func refused() async throws {
        for (agents, group) in [(roster, getegid() + 1), (nil, nil)] as [(AgentRoster?, UInt32?)] {
            let server = try TestServer(agents: agents, agentGroup: group)
            let client = try await server.greetedClient()
            let reply = try await client.call(.agentRegister, Self.registration)
            #expect(reply.error == KeychainError(.missingEntitlement))
            #expect(try await client.isClosed())
            #expect(
                server.audit.events.contains {
                    $0.kind == .clientRefused && $0.detail.contains("agentRegister")
                }
            )
            // It may still connect as an app.
            let app = try await server.greetedClient()
            #expect(try await app.call(.status, EmptyBody()).status == .success)
        }
    }

    @Test("a member of the agents' group may register, and is refused app methods")
    func agent() async throws {
        let server = try TestServer(agents: roster, agentGroup: getegid())
        let client = try await server.greetedClient()
        #expect(try await client.call(.agentRegister, Self.registration).status == .success)
        let other = try await server.greetedClient()
        #expect(
            try await other.call(.agentRegister, Self.registration).error == KeychainError(.duplicateItem)
        )
        #expect(try await other.call(.status, EmptyBody()).error == KeychainError(.missingEntitlement))
        #expect(try await other.isClosed())
    }
}
