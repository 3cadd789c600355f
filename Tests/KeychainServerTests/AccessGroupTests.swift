import Glibc
import KeychainModel
import KeychainServer
import Testing

@Suite("A manifest of access groups")
struct AccessGroupManifestTests {
    private func manifest(_ text: String) throws -> AccessGroupManifest {
        var manifest = AccessGroupManifest()
        try manifest.add(text)
        return manifest
    }

    @Test("grants each program the groups that it stands under, in their order")
    func grants() throws {
        let manifest = try manifest(
            """
            # mail
              [com.example.mail]\u{20}
            /usr/bin/mail
            /opt/Mail Helper/helper#2\r

            [shared]
            /usr/bin/mail
            /usr/bin/mail
            """
        )
        #expect(manifest.groups(of: "/usr/bin/mail").map(\.name) == ["com.example.mail", "shared"])
        #expect(manifest.groups(of: "/opt/Mail Helper/helper#2").map(\.name) == ["com.example.mail"])
        #expect(manifest.groups(of: "/usr/bin/mai").isEmpty)
        #expect(manifest.groups(of: nil).isEmpty)
    }

    @Test("knows a program by the bytes of its path, not by how they look")
    func octets() throws {
        let manifest = try manifest("[group]\n/opt/caf\u{E9}")
        #expect(!manifest.groups(of: "/opt/caf\u{E9}").isEmpty)
        #expect(manifest.groups(of: "/opt/cafe\u{301}").isEmpty)
    }

    @Test("of several texts grants what each of them says")
    func several() throws {
        var manifest = try manifest("[one]\n/usr/bin/mail")
        try manifest.add("[two]\n/usr/bin/mail")
        #expect(manifest.groups(of: "/usr/bin/mail").map(\.name) == ["one", "two"])
    }

    @Test(
        "is refused with the line that is wrong",
        arguments: [
            ("/usr/bin/mail", 1), ("[]", 1), ("\r\n[group", 2), ("[a]\nmail", 2), ("[a]\n./mail", 2),
            ("[a]\n/b\0", 2), ("[" + String(repeating: "a", count: 1025) + "]", 1),
            ("[a]\n/" + String(repeating: "a", count: 4095), 2),
            ((0...32).map { "[g\($0)]\n/bin/a" }.joined(separator: "\n"), 66),
        ]
    )
    func faults(text: String, line: Int) {
        var manifest = AccessGroupManifest()
        let fault = #expect(throws: AccessGroupManifest.Fault.self) { try manifest.add(text) }
        #expect(fault?.line == line)
        #expect(fault?.reason.isEmpty == false)
    }
}

@Suite("A program that was granted groups")
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

    @Test("adds to its own unless it names another of them")
    func add() async throws {
        for group in [nil, "one", Self.ownPath] {
            #expect(try await client.call(.addItem, item(group)).status == .success)
        }
        let groups: [String] = await server.vault.calls.map { call in
            guard case .add(let attributes, let group, _) = call else { return "" }
            return attributes[.accessGroup] == nil ? group.name : ""
        }
        #expect(groups == [Self.ownPath, "one", Self.ownPath])
    }

    @Test("searches and deletes in all of them unless it names one")
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
        let groups: [[String]] = await server.vault.calls.map { call in
            switch call {
            case .copy(_, let groups, _, _), .delete(_, let groups): groups.map(\.name)
            default: []
            }
        }
        let all = [Self.ownPath, "one", "two"]
        #expect(groups == [all, all, ["two"], ["two"]])
    }

    @Test("moves items between them")
    func update() async throws {
        let body = UpdateItems(
            query: query("one"),
            attributes: [.accessGroup: .string("two")],
            accessControl: nil,
            data: nil,
            prompt: PromptFields()
        )
        #expect(try await client.call(.updateItems, body).status == .success)
        guard case .update(let query, let groups, let attributes, _)? = await server.vault.calls.first else {
            Issue.record("no call")
            return
        }
        #expect(query.attributes[.accessGroup] == .string("one"))
        #expect(groups.map(\.name) == [Self.ownPath, "one", "two"])
        #expect(attributes == [.accessGroup: .string("two")])
    }

    @Test("makes keys in its own unless it names another of them, and uses those of all")
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

    @Test("is refused the group of another program in every call")
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
        #expect(await server.vault.calls.isEmpty)
    }
}

@Suite("A program's own group in a manifest")
struct OwnGroupTests {
    private func manifest(_ text: String) throws -> AccessGroupManifest {
        var manifest = AccessGroupManifest()
        try manifest.add(text)
        return manifest
    }

    @Test("stands for its path's group, by a path or a pattern; the first line that fits counts")
    func own() throws {
        let manifest = try manifest(
            "[a]\nown /opt/app-*/bin/app\nown /usr/bin/app\n[b]\nown /opt/*/bin/app\n/usr/bin/app"
        )
        #expect(manifest.ownGroup(of: "/opt/app-1.2/bin/app")?.name == "a")
        #expect(manifest.ownGroup(of: "/opt/other/bin/app")?.name == "b")
        #expect(manifest.ownGroup(of: "/usr/bin/app")?.name == "a")
        #expect(manifest.groups(of: "/usr/bin/app").map(\.name) == ["b", "a"])
        #expect(manifest.ownGroup(of: "/usr/bin/other") == nil)
    }

    @Test(
        "a star stands for any characters but a slash",
        arguments: [
            ("/opt/app-*/bin/app", "/opt/app-1/bin/app", true),
            ("/opt/app-*/bin/app", "/opt/app-/bin/app", true),
            ("/opt/app-*/bin/app", "/opt/app-1/x/bin/app", false),
            ("/opt/app-*/bin/app", "/opt/app-1/bin/app2", false),
            ("/opt/app-*/bin/app", "/opt/bpp-1/bin/app", false),
            ("/tmp/.mount_App*/usr/bin/app", "/tmp/.mount_AppXyz/usr/bin/app", true),
            ("/a/*b*/c", "/a/xbyb/c", true), ("/a/*b*/c", "/a/xyz/c", false), ("/a/*", "/a/b", true),
            ("/a/*", "/a/b/c", false),
            ("/a/*.AppImage", "/a/x.AppImage", true), ("/a/**c", "/a/bc", true), ("/a/*bc", "/a/bbc", true),
            ("/a/*ab*ab", "/a/xabab", true), ("/a/*ab*ab", "/a/xab", false), ("/a/x*", "/a/x", true),
            ("/a/b*/*/c", "/a/b/x/c", true), ("/a/b*/*/c", "/a/b/c", false),
        ]
    )
    func pattern(pattern: String, path: String, fits: Bool) throws {
        #expect(try manifest("[g]\n\(pattern)").groups(of: path).isEmpty == !fits)
        #expect(try (manifest("[g]\nown \(pattern)").ownGroup(of: path) != nil) == fits)
    }

    @Test(
        "may not be named like a program, nor like the command",
        arguments: ["/usr/bin/other", "touchstone"]
    )
    func names(group: String) {
        #expect(throws: AccessGroupManifest.Fault.self) { try manifest("[\(group)]\nown /usr/bin/app") }
    }

    @Test("is where a program's items go; what is under its path stays within reach")
    func reach() async throws {
        let own = try manifest("[com.example.app]\nown \(CallerTests.ownPath)")
        let server = try TestServer(identity: ClientIdentity(ownProgram: nil, manifest: own))
        let client = try await server.greetedClient()
        _ = try await client.call(.copyItems, CopyItems.passwords())
        guard case .copy(_, let groups, _, _) = await server.vault.calls.first else {
            Issue.record("no call")
            return
        }
        #expect(groups.map(\.name) == ["com.example.app", CallerTests.ownPath])
    }
}
