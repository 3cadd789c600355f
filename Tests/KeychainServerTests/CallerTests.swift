import Desk
import Glibc
import KeychainModel
import KeychainServer
import Testing

@Suite("Caller identification")
struct CallerTests {
    static var ownPath: String {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count)
        return String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    @Test("the access group is the path of the connecting program")
    func programPath() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        _ = try await client.call(.copyItems, CopyItems.passwords())
        guard case .copy(_, let groups, _, _) = server.vault.calls.first else {
            Issue.record("no call")
            return
        }
        #expect(groups.map(\.name) == [Self.ownPath])
    }

    @Test("the project's own command has a fixed group name")
    func ownProgram() async throws {
        let server = try TestServer(identity: ClientIdentity(ownProgram: Self.ownPath))
        let client = try await server.greetedClient()
        _ = try await client.call(.copyItems, CopyItems.passwords())
        guard case .copy(_, let groups, _, _) = server.vault.calls.first else {
            Issue.record("no call")
            return
        }
        #expect(groups.map(\.name) == ["touchstone"])
    }

    @Test("a group named in a message is accepted only if it is the caller's own")
    func namedGroup() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let foreign = ItemQuery.passwords(attributes: [.accessGroup: .string("/usr/bin/other")])
        let refused = try await client.call(.copyItems, CopyItems(query: foreign, prompt: PromptFields()))
        #expect(refused.status == .missingEntitlement)
        let deleted = try await client.call(.deleteItems, DeleteItems(query: foreign, prompt: PromptFields()))
        #expect(deleted.status == .missingEntitlement)
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [.accessGroup: .string("touchstone")],
            accessControl: AccessControl(accessibility: .whenUnlocked),
            data: nil,
            prompt: PromptFields()
        )
        let added = try await client.call(.addItem, item)
        #expect(added.status == .missingEntitlement)
        #expect(server.vault.calls.isEmpty)

        let own = ItemQuery.passwords(attributes: [.accessGroup: .string(Self.ownPath)])
        let allowed = try await client.call(.copyItems, CopyItems(query: own, prompt: PromptFields()))
        #expect(allowed.status == .success)
    }

    @Test("a program of another user than the keychain's owner is refused and logged")
    func foreign() async throws {
        let server = try TestServer(owner: Owner(uid: geteuid() + 1, name: nil))
        let refused = try server.connect()
        #expect(try await refused.reply().status == .missingEntitlement)
        #expect(try await refused.isClosed())
        #expect(server.audit.events.map(\.detail) == ["another user"])
        #expect(server.server.idleTime != nil)
    }

    @Test("connections beyond a user's limit are refused until one ends")
    func tooMany() async throws {
        let server = try TestServer { $0.connectionsPerUser = 3 }
        var clients = [TestClient]()
        for _ in 0..<3 { clients.append(try await server.greetedClient()) }
        let refused = try server.connect()
        let answer = try await refused.reply()
        #expect(answer.status == .allocate)
        #expect(answer.error?.cause == .tooManyConnections)
        #expect(answer.error?.remedy == .retry)
        #expect(try await refused.isClosed())
        // Repeated attempts are logged only once in a while.
        for _ in 0..<5 { #expect(try await server.connect().reply().status == .allocate) }
        #expect(server.audit.events.count { $0.detail == "too many connections" } == 1)
        #expect(server.audit.events.contains { $0.detail == "too many connections" })
        clients.removeLast()
        try await eventually("a free place") {
            do {
                _ = try await server.greetedClient()
                return true
            } catch { return false }
        }
    }
}
