import Glibc
import KeychainModel
import KeychainServer
import Testing
import TouchstoneTesting

@Suite("Handshake")
struct HandshakeTests {
    @Test("the daemon greets first, and a hello with its nonce opens the connection")
    func greeting() async throws {
        let server = try TestServer()
        let client = try server.connect()
        let greeting = try await client.hello()
        #expect(greeting.daemonVersion == "test")
        let status = try await client.call(.status, EmptyBody())
        #expect(status.status == .success)
    }

    @Test("two connections have different nonces")
    func nonces() async throws {
        let server = try TestServer()
        let first = try await server.connect().greeting()
        let second = try await server.connect().greeting()
        #expect(first.nonce != second.nonce)
    }

    @Test("a request before the hello is refused and ends the connection")
    func noHello() async throws {
        let server = try TestServer()
        let client = try server.connect()
        _ = try await client.greeting()
        let reply = try await client.call(.copyItems, CopyItems.passwords())
        #expect(reply.status == .badReq)
        #expect(try await client.isClosed())
        #expect(server.vault.calls.isEmpty)
    }

    @Test("a wrong nonce is refused and ends the connection")
    func wrongNonce() async throws {
        let server = try TestServer()
        let client = try server.connect()
        var nonce = try await client.greeting().nonce
        nonce[0] ^= 1
        let reply = try await client.call(.hello, Hello(nonce: nonce))
        #expect(reply.status == .authFailed)
        #expect(try await client.isClosed())
        #expect(server.audit.events.contains { $0.kind == .clientRefused && $0.detail == "nonce" })
    }

    @Test("a second hello ends the connection")
    func secondHello() async throws {
        let server = try TestServer()
        let client = try server.connect()
        let greeting = try await client.hello()
        try await client.request(.hello, Hello(nonce: greeting.nonce))
        #expect(try await client.isClosed())
    }

    @Test("a recorded session cannot be replayed on another connection")
    func replay() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let reply = try await client.call(.copyItems, CopyItems.passwords())
        #expect(reply.status == .success)
        let recorded = await client.sent
        let thief = try server.connect()
        _ = try await thief.greeting()
        try? await thief.write(recorded)
        #expect(try await thief.isClosed())
        #expect(server.vault.calls.count == 1)
    }

    @Test("a recorded session cannot be replayed on the same connection")
    func replayInPlace() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        _ = try await client.call(.copyItems, CopyItems.passwords())
        let recorded = await client.sent
        try? await client.write(recorded)
        #expect(try await client.isClosed())
        #expect(server.vault.calls.count == 1)
    }

    @Test("a peer without credentials is refused, and the reason is logged")
    func noPeer() throws {
        let server = try TestServer()
        server.server.serve(open("/dev/null", O_RDWR | O_CLOEXEC))
        #expect(server.audit.events.map(\.kind) == [.clientRefused])
        #expect(server.audit.events.first?.detail.hasPrefix("getsockopt SO_PEERCRED failed (") == true)
        #expect(server.server.idleTime != nil)
    }

    @Test("a connection without a hello is closed after a deadline")
    func helloDeadline() async throws {
        let server = try TestServer { $0.helloDeadline = .milliseconds(50) }
        let client = try server.connect()
        _ = try await client.greeting()
        #expect(try await client.isClosed())
        #expect(server.audit.events.contains { $0.detail == "hello deadline" })
    }

    @Test("a connection may be idle without limit after the hello")
    func quietClient() async throws {
        let server = try TestServer {
            $0.helloDeadline = .seconds(2)
            $0.frameDeadline = .milliseconds(30)
        }
        // On a busy machine the hello may be too late.
        let client = try await Deadline.wait(for: "a hello in time") { try? await server.greetedClient() }
        let other = try server.connect()
        #expect(try await other.isClosed())
        let status = try await client.call(.status, EmptyBody())
        #expect(status.status == .success)
    }
}
