import Desk
import Glibc
import KeychainModel
import Testing

@Suite("A program with granted access groups")
struct EntitledGroupTests {
    private static let ownPath: String = {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count)
        return String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()

    private let server: TestServer
    private let client: TestClient

    init() async throws {
        var manifest = AccessGroupManifest()
        try manifest.add("[one]\n\(Self.ownPath)\n[two]\n\(Self.ownPath)\n[other]\n/usr/bin/other")
        server = try TestServer(identity: ClientIdentity(ownProgram: nil, manifest: manifest))
        client = try await server.greetedClient()
    }

    private func item(_ group: String?) -> AddItem {
        AddItem(
            itemClass: .genericPassword,
            attributes: group.map { [.accessGroup: .string($0)] } ?? [:],
            accessControl: AccessControl(accessibility: .whenUnlocked),
            data: nil,
            prompt: PromptFields()
        )
    }

    private func query(_ group: String?) -> ItemQuery {
        .passwords(attributes: group.map { [.accessGroup: .string($0)] } ?? [:])
    }

    @Test("an item is added to the program's own group unless the query names another of its groups")
    func add() async throws {
        for group in [nil, "one", Self.ownPath] {
            #expect(try await client.call(.addItem, item(group)).status == .success)
        }
        let groups: [String] = server.vault.calls.map { call in
            guard case .add(let attributes, let group, _) = call else { return "" }
            return attributes[.accessGroup] == nil ? group.name : ""
        }
        #expect(groups == [Self.ownPath, "one", Self.ownPath])
    }

    @Test("searches and deletions cover all of the program's groups unless the query names one")
    func search() async throws {
        for group in [nil, "two"] {
            let copied = try await client.call(
                .copyItems,
                CopyItems(query: query(group), prompt: PromptFields())
            )
            #expect(copied.status == .success)
            let deleted = try await client.call(
                .deleteItems,
                DeleteItems(query: query(group), prompt: PromptFields())
            )
            #expect(deleted.status == .success)
        }
        let groups: [[String]] = server.vault.calls.map { call in
            switch call {
            case .copy(_, let groups, _, _), .delete(_, let groups): groups.map(\.name)
            default: []
            }
        }
        let all = [Self.ownPath, "one", "two"]
        #expect(groups == [all, all, ["two"], ["two"]])
    }

    @Test("an item can be moved between the program's groups")
    func update() async throws {
        let body = UpdateItems(
            query: query("one"),
            attributes: [.accessGroup: .string("two")],
            accessControl: nil,
            data: nil,
            prompt: PromptFields()
        )
        #expect(try await client.call(.updateItems, body).status == .success)
        guard case .update(let query, let groups, let attributes, _)? = server.vault.calls.first else {
            Issue.record("no call")
            return
        }
        #expect(query.attributes[.accessGroup] == .string("one"))
        #expect(groups.map(\.name) == [Self.ownPath, "one", "two"])
        #expect(attributes == [.accessGroup: .string("two")])
    }

    @Test("keys are made in the own group unless the query names another, and keys of all groups are usable")
    func keys() async throws {
        let control = AccessControl(accessibility: .whenUnlocked)
        for group in [nil, "one"] {
            let make = MakeKey(
                accessControl: control,
                group: group.flatMap(AccessGroup.init),
                prompt: PromptFields()
            )
            #expect(try await client.call(.makeKey, make).status == .success)
        }
        let foreign = MakeKey(accessControl: control, group: AccessGroup("other"), prompt: PromptFields())
        #expect(try await client.call(.makeKey, foreign).status == .missingEntitlement)
        let prompt = PromptFields()
        let digest = KeyUse.sign(digest: [UInt8](repeating: 7, count: 32))
        _ = try await client.call(.readKey, ReadKey(representation: [1], prompt: prompt))
        _ = try await client.call(.useKey, UseKey(representation: [1], use: digest, prompt: prompt))
        let attest = AttestKey(representation: [1], qualifyingData: [], prompt: prompt)
        _ = try await client.call(.attestKey, attest)
        let groups: [[String]] = await server.keys.calls.map { call in
            switch call {
            case .make(_, let group, _): [group.name]
            case .read(_, let groups), .use(_, _, let groups, _), .attest(_, _, let groups, _):
                groups.map(\.name)
            }
        }
        let all = [Self.ownPath, "one", "two"]
        #expect(groups == [[Self.ownPath], ["one"], all, all, all])
    }

    @Test("another program's group is refused in every call")
    func foreign() async throws {
        let added = try await client.call(.addItem, item("other"))
        let copied = try await client.call(
            .copyItems,
            CopyItems(query: query("other"), prompt: PromptFields())
        )
        let deleted = try await client.call(
            .deleteItems,
            DeleteItems(query: query("other"), prompt: PromptFields())
        )
        var statuses = [added.status, copied.status, deleted.status]
        for (from, to) in [("other", "one"), ("one", "other")] {
            let body = UpdateItems(
                query: query(from),
                attributes: [.accessGroup: .string(to)],
                accessControl: nil,
                data: nil,
                prompt: PromptFields()
            )
            statuses.append(try await client.call(.updateItems, body).status)
        }
        #expect(statuses == Array(repeating: .missingEntitlement, count: 5))
        #expect(server.vault.calls.isEmpty)
    }
}

@Suite("A program's own group from the manifest")
struct OwnGroupTests {
    @Test("new items go to the own group, and items under the program's path remain accessible")
    func reach() async throws {
        var own = AccessGroupManifest()
        try own.add("[com.example.app]\nown \(CallerTests.ownPath)")
        let server = try TestServer(identity: ClientIdentity(ownProgram: nil, manifest: own))
        let client = try await server.greetedClient()
        _ = try await client.call(.copyItems, CopyItems.passwords())
        guard case .copy(_, let groups, _, _) = server.vault.calls.first else {
            Issue.record("no call")
            return
        }
        #expect(groups.map(\.name) == ["com.example.app", CallerTests.ownPath])
    }
}
