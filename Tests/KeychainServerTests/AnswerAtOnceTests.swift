import CBOR
import KeychainModel
import SecretMemory
import Testing

@Suite("Synchronous answers to look-ups")
struct AnswerAtOnceTests {
    @Test(
        "a synchronous answer has the caller's groups and authorisation, and is logged"
    )
    func item() async throws {
        let vault = ScriptedVault(atOnce: { query, groups, authorization throws(KeychainError) in
            guard groups.count == 1, query.returns == .data else { throw KeychainError(.param) }
            return authorization.applicationPassword == nil ? [7] : nil
        })
        let server = try TestServer(vault: vault)
        let client = try await server.greetedClient()
        for context in [nil, 3] as [UInt64?] {
            let reply = try await client.call(.copyItems, CopyItems.passwords(context: context))
            #expect(reply.body == .array([.map([CBORPair(.unsigned(ItemField.data), .bytes([7]))])]))
            #expect(reply.head.more == false)
        }
        #expect(await vault.calls.isEmpty)
        #expect(server.audit.events.map(\.detail) == ["copy genp 1", "copy genp 1"])
        // A context with an application password needs a task, because a key must be derived.
        let set = SetCredential(context: 3, password: SecretBytes(copying: [1]))
        _ = try await client.call(.setCredential, set)
        #expect(try await client.call(.copyItems, CopyItems.passwords(context: 3)).status == .success)
        #expect(await vault.calls.count == 1)
    }

    @Test("a missing item is reported synchronously")
    func missing() async throws {
        let vault = ScriptedVault(atOnce: { _, _, _ throws(KeychainError) in
            throw KeychainError(.itemNotFound, cause: .invalidated)
        })
        let server = try TestServer(vault: vault)
        let client = try await server.greetedClient()
        let reply = try await client.call(.copyItems, CopyItems.passwords())
        #expect(reply.error == KeychainError(.itemNotFound, cause: .invalidated))
        #expect(await vault.calls.isEmpty)
        #expect(server.audit.events.isEmpty)
    }

    @Test("a look-up of several items, or one that needs a prompt, is not answered synchronously")
    func others() async throws {
        let vault = ScriptedVault(
            { _ throws(KeychainError) in .page([[2]], next: nil) },
            atOnce: { query, _, _ throws(KeychainError) in
                #expect(query.limit == .one)
                throw KeychainError(.interactionNotAllowed, cause: .locked)
            }
        )
        let server = try TestServer(vault: vault)
        let client = try await server.greetedClient()
        for request in [CopyItems.passwords(limit: .all), CopyItems.passwords()] {
            #expect(try await client.call(.copyItems, request).status == .success)
        }
        #expect(await vault.calls.count == 2)
    }

    @Test("a look-up with an invalidated context is refused")
    func invalidated() async throws {
        let server = try TestServer(vault: ScriptedVault(atOnce: { _, _, _ throws(KeychainError) in [7] }))
        let client = try await server.greetedClient()
        _ = try await client.call(.invalidateContext, ContextNumber(3))
        let reply = try await client.call(.copyItems, CopyItems.passwords(context: 3))
        #expect(reply.error?.authentication?.code == .invalidContext)
    }
}
