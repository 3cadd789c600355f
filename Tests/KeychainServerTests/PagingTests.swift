import CBOR
import KeychainModel
import KeychainServer
import Synchronization
import Testing

@Suite("Long results")
struct PagingTests {
    /// A vault with any number of pages of one item each.
    private static func pages(_ count: Int, octets: Int = 1) -> ScriptedVault {
        ScriptedVault { calls throws(KeychainError) in
            guard case .copy(_, _, _, let cursor) = calls.last else { throw KeychainError(.param) }
            let page = cursor?.returned ?? 0
            let next = page + 1 < count ? ItemCursor(row: Int64(page), returned: page + 1) : nil
            return .page([[UInt8](repeating: UInt8(truncatingIfNeeded: page), count: octets)], next: next)
        }
    }

    @Test("pages arrive in order, and all but the last announce more")
    func order() async throws {
        let server = try TestServer(vault: Self.pages(20))
        let client = try await server.greetedClient()
        let id = try await client.request(.copyItems, CopyItems.passwords(limit: .all))
        for page in 0..<20 {
            let reply = try await client.reply()
            #expect(reply.head == ReplyHead(id: id, more: page < 19))
            #expect(reply.body == .array([.map([CBORPair(.unsigned(3), .bytes([UInt8(page)]))])]))
        }
    }

    @Test("a cancelled look-up ends its pages")
    func cancel() async throws {
        let server = try TestServer(vault: Self.pages(.max, octets: 1000))
        let client = try await server.greetedClient()
        let id = try await client.request(.copyItems, CopyItems.passwords(limit: .all))
        _ = try await client.reply()
        try await client.request(.cancel, CancelRequest(id: id))
        var last = try await client.reply()
        while last.head.id != id || last.head.more { last = try await client.reply() }
        #expect(last.error?.authentication == AuthenticationError(.appCancel))
    }

    @Test("a disconnecting client ends its pages")
    func hangUp() async throws {
        let server = try TestServer(vault: Self.pages(.max, octets: 1000))
        let client = try await server.greetedClient()
        try await client.request(.copyItems, CopyItems.passwords(limit: .all))
        _ = try await client.reply()
        await client.hangUp()
        try await eventually("end of the connection") { server.server.idleTime != nil }
    }

    @Test("a client that does not read is disconnected, while others are served")
    func stalledReader() async throws {
        let server = try TestServer(vault: Self.pages(.max, octets: 100_000)) {
            $0.replyDeadline = .milliseconds(200)
        }
        let client = try await server.greetedClient()
        try await client.request(.copyItems, CopyItems.passwords(limit: .all))
        let other = try await server.greetedClient()
        #expect(try await other.call(.status, EmptyBody()).status == .success)
        await other.hangUp()
        try await eventually("end of the connection") { server.server.idleTime != nil }
        _ = client
    }

    @Test("an error after the first page ends the result")
    func lateError() async throws {
        let vault = ScriptedVault { calls throws(KeychainError) in
            if calls.count == 3 { throw KeychainError(.decode, cause: .damaged) }
            return .page([[1]], next: ItemCursor(row: 1, returned: calls.count))
        }
        let server = try TestServer(vault: vault)
        let client = try await server.greetedClient()
        try await client.request(.copyItems, CopyItems.passwords(limit: .all))
        #expect(try await client.reply().head.more)
        #expect(try await client.reply().head.more)
        let last = try await client.reply()
        #expect(last.status == .decode)
        #expect(!last.head.more)
    }
}
