import CBOR
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainServer

@Suite("Requests that change items without reading them")
struct ReplaceCallTests {
    private static let name: ItemAttributes = [.account: .string("ann"), .service: .string("tests")]

    private static func query(_ more: ItemAttributes = [:]) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: name.merging(more) { $1 })
    }

    private static func swap(
        _ query: ItemQuery = query(),
        _ attributes: ItemAttributes = name,
        flags: AccessControlFlags = []
    ) throws -> ReplaceItem {
        ReplaceItem(
            query: query,
            itemClass: .genericPassword,
            attributes: attributes,
            accessControl: try AccessControl(accessibility: .whenUnlocked, flags: flags),
            data: SecretBytes(copying: [5, 6]),
            mark: SecretBytes(copying: [6]),
            keepsSame: true,
            prompt: PromptFields()
        )
    }

    @Test("a replacement searches the new item's group only, has its secret, and shows no prompt")
    func replace() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let reply = try await client.call(.replaceItem, Self.swap(flags: .userPresence))
        #expect(reply.status == .success && reply.body == .unsigned(Replacement.replaced.rawValue))
        guard
            case .replace(let query, let groups, let attributes, let group, let data)? = server.vault.calls
                .first
        else {
            Issue.record("no call")
            return
        }
        #expect(query == Self.query() && attributes == Self.name && data == [5, 6])
        #expect(groups == [group])
        #expect(server.authenticator.evaluations.isEmpty)
        #expect(server.audit.events.map(\.detail) == ["replace genp 1"])
    }

    @Test("a change is reported after the hardware has followed it, for both requests")
    func hardware() async throws {
        let server = try TestServer(vault: ScriptedVault { _ throws(KeychainError) in .unsettled(1) })
        let client = try await server.greetedClient()
        #expect(try await client.call(.replaceItem, Self.swap()).status == .success)
        #expect(server.vault.settled == 1)
        let erase = EraseItems(query: Self.query(), secret: SecretBytes(copying: [1]), prompt: PromptFields())
        #expect(try await client.call(.eraseItems, erase).status == .success)
        #expect(server.vault.settled == 2)
    }

    @Test("another program's group is refused before anything is changed, in the query and in the item")
    func groups() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let foreign: ItemAttributes = [.accessGroup: .string("other")]
        let named = Self.name.merging(foreign) { $1 }
        for request in [
            { try Self.swap(Self.query(foreign)) }, { try Self.swap(Self.query(), named) },
        ] as [() throws -> ReplaceItem] {
            #expect(try await client.call(.replaceItem, request()).status == .missingEntitlement)
        }
        let erase = EraseItems(
            query: Self.query(foreign),
            secret: SecretBytes(copying: [1]),
            prompt: PromptFields()
        )
        #expect(try await client.call(.eraseItems, erase).status == .missingEntitlement)
        #expect(server.vault.calls.isEmpty)
    }

    @Test("wrong secrets are refused after twenty, over all connections; right ones are not counted")
    func guesses() async throws {
        let server = try TestServer(
            vault: ScriptedVault { calls throws(KeychainError) in
                guard case .erase(_, _, let secret)? = calls.last, secret == [1] else { return .count(1) }
                return .page([], next: nil)
            }
        )
        func erase(_ octet: UInt8) async throws -> Status {
            let client = try await server.greetedClient()
            let body = EraseItems(
                query: Self.query(),
                secret: SecretBytes(copying: [octet]),
                prompt: PromptFields()
            )
            return try await client.call(.eraseItems, body).status
        }
        for _ in 0..<30 { #expect(try await erase(1) == .success) }
        var wrong = 0
        while wrong < 1000, try await erase(2) == .success { wrong += 1 }
        // On a slow machine some more become free meanwhile.
        #expect((20..<200).contains(wrong), "\(wrong)")
        #expect(server.vault.calls.count == 30 + wrong, "a refused guess is not compared")
    }

    @Test("both requests and replies survive the wire")
    func wire() throws {
        for outcome in Replacement.allCases {
            let reply = ReplyHead(id: 1).message(outcome)
            let read = try reply.withOctets { octets in
                try CBORReader.read(octets, limits: Frame.limits) { reader in
                    _ = try ReplyHead(from: &reader)
                    return try Replacement(from: &reader)
                }
            }
            #expect(read == outcome)
        }
        let erasure = Erasure(deleted: 1, different: 2, unknown: 3)
        let reply = ReplyHead(id: 1).message(erasure)
        let read = try reply.withOctets { octets in
            try CBORReader.read(octets, limits: Frame.limits) { reader in
                _ = try ReplyHead(from: &reader)
                return try Erasure(from: &reader)
            }
        }
        #expect(read == erasure)
    }
}
