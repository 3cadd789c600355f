import CBOR
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Request numbers")
struct RequestNumberTests {
    private func frame(_ id: UInt64, _ method: KeychainModel.Method = .copyItems) -> [UInt8] {
        TestClient.frame(RequestHead(id: id, method: method), CopyItems.passwords())
    }

    @Test(
        "a repeated or smaller request number ends the connection",
        arguments: [1, 2, 5] as [UInt64]
    )
    func repeated(id: UInt64) async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        try await client.write(frame(5))
        #expect(try await client.reply().head.id == 5)
        try await client.write(frame(id))
        #expect(try await client.isClosed())
        #expect(server.vault.calls.count == 1)
    }

    @Test("the greeting's number cannot be used for a request")
    func zero() async throws {
        let server = try TestServer()
        let client = try server.connect()
        let greeting = try await client.greeting()
        try await client.write(
            TestClient.frame(RequestHead(id: 0, method: .hello), Hello(nonce: greeting.nonce))
        )
        #expect(try await client.isClosed())
    }

    @Test("each of many pipelined requests is answered once with its own result")
    func pipelined() async throws {
        let vault = ScriptedVault { calls throws(KeychainError) in
            guard case .copy(let query, _, _, _) = calls.last,
                case .string(let name) = query.attributes[.account]
            else { throw KeychainError(.internalComponent) }
            return .page([Array(name.utf8)], next: nil)
        }
        let server = try TestServer(vault: vault)
        let client = try await server.greetedClient()
        let count: UInt64 = CaseSize.of(500, full: 100_000)
        var octets: [UInt8] = []
        for id in 2...(count + 1) {
            let query = ItemQuery.passwords(attributes: [.account: .string("\(id)")])
            let body = CopyItems(query: query, prompt: PromptFields())
            octets += TestClient.frame(RequestHead(id: id, method: .copyItems), body)
        }
        let all = octets
        async let written: Void = client.write(all)
        var answered: Set<UInt64> = []
        for _ in 0..<count {
            let reply = try await client.reply()
            #expect(answered.insert(reply.head.id).inserted)
            #expect(
                reply.body == .array([.map([CBORPair(.unsigned(3), .bytes(Array("\(reply.head.id)".utf8)))])])
            )
        }
        try await written
        #expect(answered == Set(2...(count + 1)))
    }

    @Test("replies come out of order while one request waits for a prompt")
    func outOfOrder() async throws {
        let gate = Flag()
        let authenticator = ScriptedAuthenticator { _ throws(AuthenticationError) in
            do { try await eventually("gate") { gate.isRaised } } catch {
                throw AuthenticationError(.systemCancel)
            }
            return [.biometry]
        }
        let server = try TestServer(authenticator: authenticator)
        let client = try await server.greetedClient()
        let slow = try await client.request(.evaluatePolicy, EvaluatePolicy.policy(1))
        let quick = try await client.request(.status, EmptyBody())
        #expect(try await client.reply().head.id == quick)
        gate.raise()
        #expect(try await client.reply().head.id == slow)
    }

    @Test("cancelling an unknown request succeeds and has no effect")
    func cancelUnknown() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        #expect(try await client.call(.cancel, CancelRequest(id: 77)).status == .success)
        #expect(try await client.call(.copyItems, CopyItems.passwords()).status == .success)
    }
}
