import Foundation
import Glibc
import KeychainModel
import MessageBus
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// The door of the Secret Service, by a client that says each call itself.
@Suite(
    "The Secret Service",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .timeLimit(.minutes(20))
)
struct SecretServiceTests {
    private let world: SecretServiceWorld
    private let client: SecretsPeer
    private static let root = SecretServiceWorld.root
    private static let login = SecretServiceWorld.login

    init() async throws {
        world = try await SecretServiceWorld()
        client = try await world.client()
    }

    // MARK: Items

    @Test(
        "an item is found by any of its attributes, read, changed, replaced if all its attributes are the same, and deleted"
    )
    func items() async throws {
        let (item, prompt) = try await client.create("mail", ["user": "a", "server": "s"])
        #expect(prompt == "/" && item.hasPrefix(Self.login + "/"))
        #expect(try await client.read(item) == SecretServiceWorld.secret)
        #expect(try await client.search(["user": "a"]).unlocked == [item])
        #expect(try await client.search(["user": "a", "server": "s"]).unlocked == [item])
        #expect(try await client.search(["user": "b"]).unlocked.isEmpty)
        #expect(try await client.search(["user": "a", "other": "s"]).unlocked.isEmpty)

        let (more, _) = try await client.create("more", ["user": "a"], "two", replaces: true)
        #expect(more != item)
        let (same, _) = try await client.create(
            "mail 2",
            ["server": "s", "user": "a"],
            "three",
            replaces: true
        )
        #expect(same == item)
        #expect(try await client.read([item, more]) == [item: "three", more: "two"])
        #expect(try await client.property(item, SecretsPeer.item, "Label") == .string("mail 2"))

        _ = try await client.call(item, SecretsPeer.item, "SetSecret", [try client.secret("four")])
        #expect(try await client.read(item) == "four")
        let attributes = BusValue.textPairs(["new": "value", "user": "a"])
        _ = try await client.call(
            item,
            "org.freedesktop.DBus.Properties",
            "Set",
            [.string(SecretsPeer.item), .string("Attributes"), .variant(attributes)]
        )
        #expect(try await client.property(item, SecretsPeer.item, "Attributes") == attributes)
        #expect(try await client.search(["server": "s"]).unlocked.isEmpty)
        #expect(try await client.read(item) == "four")
        // The newest first.
        #expect(try await client.search(["user": "a"]).unlocked == [item, more])

        #expect(try await client.call(item, SecretsPeer.item, "Delete") == [.objectPath("/")])
        #expect(
            await client.fault(item, SecretsPeer.item, "GetSecret", [.objectPath(client.session)])
                == SecretsPeer.noSuchObject
        )
        #expect(try await client.search(["user": "a"]).unlocked == [more])
    }

    @Test("names and values of attributes may have any letters, and a secret any bytes, also none")
    func letters() async throws {
        let attributes = [
            "xdg:schema": "org.example", "naïve": "é", String(repeating: "n", count: 200): "long", "a b": "",
            "fs:type": "x", "=": "=", "1:": "2:",
        ]
        let (item, _) = try await client.create("ü\n\u{1b}[31m", attributes, "")
        #expect(try await client.property(item, SecretsPeer.item, "Attributes") == .textPairs(attributes))
        for (name, value) in attributes {
            #expect(try await client.search([name: value]).unlocked == [item], "\(name)")
            #expect(try await client.search([name: value + "x"]).unlocked.isEmpty, "\(name)")
        }
        #expect(try await client.read(item).isEmpty)
        let octets = (0...255).map { UInt8($0) } + [0, 0]
        let secret = BusValue.structure([
            .objectPath(client.session), .octets(try BusOctets(copying: [])),
            .octets(try BusOctets(copying: octets)), .string("application/octet-stream"),
        ])
        _ = try await client.call(item, SecretsPeer.item, "SetSecret", [secret])
        let reply = try await client.call(item, SecretsPeer.item, "GetSecret", [.objectPath(client.session)])
        #expect(reply == [secret])
        // What is printed of it elsewhere is harmless.
        let list = try await world.touchstone("secrets", "list")
        #expect(!list.text.contains("\u{1b}") && list.text.split(separator: "\n").count == 1)
    }

    @Test("what is too much is refused with an error, and changes nothing")
    func limits() async throws {
        let limit = "org.freedesktop.DBus.Error.LimitsExceeded"
        func fault(_ attributes: [String: String], _ label: String = "l", _ secret: String = "s") async throws
            -> String?
        {
            await client.fault(
                Self.login,
                SecretsPeer.collection,
                "CreateItem",
                [SecretsPeer.properties(label, attributes), try client.secret(secret), .boolean(false)]
            )
        }
        let many = Dictionary(uniqueKeysWithValues: (0..<49).map { ("n\($0)", "v") })
        #expect(try await fault(many) == limit)
        #expect(try await fault(many.filter { $0.key != "n0" }) == nil)
        #expect(try await fault(["a": String(repeating: "v", count: 16 << 10)]) == limit)
        #expect(try await fault(["": "v"]) == limit)
        #expect(try await fault([:], String(repeating: "l", count: 4097)) == limit)
        #expect(try await fault([:], "l", String(repeating: "s", count: ItemLimits.longestData + 1)) == limit)
        let (item, _) = try await client.create("long", ["long": "1"], String(repeating: "s", count: 800_000))
        #expect(try await client.read(item).utf8.count == 800_000)
        #expect(try await client.search([:]).unlocked.count == 2)
        #expect(
            await client.fault(Self.root, SecretsPeer.service, "SearchItems", [.textPairs(many)]) == limit
        )
    }

    @Test("wrong arguments, methods, properties and objects are answered with D-Bus's errors")
    func wrong() async throws {
        let invalid = "org.freedesktop.DBus.Error.InvalidArgs"
        #expect(await client.fault(Self.root, SecretsPeer.service, "Unlock", [.string("x")]) == invalid)
        #expect(await client.fault(Self.root, SecretsPeer.service, "Unlock") == invalid)
        #expect(
            await client.fault(Self.root, SecretsPeer.service, "Nothing")
                == "org.freedesktop.DBus.Error.UnknownMethod"
        )
        #expect(
            await client.fault(Self.login, SecretsPeer.service, "Unlock", [.paths([])])
                == "org.freedesktop.DBus.Error.UnknownMethod"
        )
        #expect(
            await client.fault(Self.root + "/nothing", SecretsPeer.service, "Unlock", [.paths([])])
                == SecretsPeer.unknownObject
        )
        #expect(
            await client.fault(Self.root + "/collection/none", SecretsPeer.collection, "Delete")
                == SecretsPeer.noSuchObject
        )
        #expect(
            await client.fault(Self.login + "/none", SecretsPeer.item, "Delete") == SecretsPeer.noSuchObject
        )
        let properties = "org.freedesktop.DBus.Properties"
        #expect(
            await client.fault(Self.root, properties, "Get", [.string(SecretsPeer.service), .string("No")])
                == "org.freedesktop.DBus.Error.UnknownProperty"
        )
        #expect(
            await client.fault(
                Self.root,
                properties,
                "Set",
                [.string(SecretsPeer.service), .string("Collections"), .variant(.paths([]))]
            ) == "org.freedesktop.DBus.Error.PropertyReadOnly"
        )
        // A deep or a long value is no reason to stop serving.
        var deep = BusValue.string("x")
        for _ in 0..<30 { deep = .variant(deep) }
        #expect(
            await client.fault(Self.root, SecretsPeer.service, "OpenSession", [.string("plain"), deep]) != nil
        )
        #expect(try await client.search([:]).unlocked.isEmpty)
    }

    // MARK: Sessions

    @Test("a session is its client's alone, and other algorithms are not supported")
    func sessions() async throws {
        let (item, _) = try await client.create("mail", ["user": "a"])
        let other = try await world.client()
        #expect(
            await other.fault(item, SecretsPeer.item, "GetSecret", [.objectPath(client.session)])
                == SecretsPeer.noSession
        )
        #expect(
            await other.fault(client.session, "org.freedesktop.Secret.Session", "Close")
                == SecretsPeer.noSession
        )
        #expect(
            await other.fault(item, SecretsPeer.item, "SetSecret", [try client.secret("x")])
                == SecretsPeer.noSession
        )
        #expect(try await other.read(item) == SecretServiceWorld.secret)
        #expect(
            await client.fault(
                Self.root,
                SecretsPeer.service,
                "OpenSession",
                [.string("rot13"), .variant(.string(""))]
            ) == "org.freedesktop.DBus.Error.NotSupported"
        )
        _ = try await client.call(client.session, "org.freedesktop.Secret.Session", "Close")
        #expect(
            await client.fault(item, SecretsPeer.item, "GetSecret", [.objectPath(client.session)])
                == SecretsPeer.noSession
        )
        for _ in 0..<64 {
            _ = try await client.call(
                Self.root,
                SecretsPeer.service,
                "OpenSession",
                [.string("plain"), .variant(.string(""))]
            )
        }
        #expect(
            await client.fault(
                Self.root,
                SecretsPeer.service,
                "OpenSession",
                [.string("plain"), .variant(.string(""))]
            ) == "org.freedesktop.DBus.Error.LimitsExceeded"
        )
    }

    @Test(
        "an agreement with a value that hides nothing is refused",
        arguments: ["zero", "one", "prime-1", "prime", "long", "empty"]
    )
    func agreement(_ value: String) async throws {
        var prime = [UInt8](repeating: 0xFF, count: 128)
        let middle: [UInt8] = [
            0xC9, 0x0F, 0xDA, 0xA2, 0x21, 0x68, 0xC2, 0x34, 0xC4, 0xC6, 0x62, 0x8B, 0x80, 0xDC, 0x1C, 0xD1,
            0x29,
            0x02, 0x4E, 0x08, 0x8A, 0x67, 0xCC, 0x74, 0x02, 0x0B, 0xBE, 0xA6, 0x3B, 0x13, 0x9B, 0x22, 0x51,
            0x4A,
            0x08, 0x79, 0x8E, 0x34, 0x04, 0xDD, 0xEF, 0x95, 0x19, 0xB3, 0xCD, 0x3A, 0x43, 0x1B, 0x30, 0x2B,
            0x0A,
            0x6D, 0xF2, 0x5F, 0x14, 0x37, 0x4F, 0xE1, 0x35, 0x6D, 0x6D, 0x51, 0xC2, 0x45, 0xE4, 0x85, 0xB5,
            0x76,
            0x62, 0x5E, 0x7E, 0xC6, 0xF4, 0x4C, 0x42, 0xE9, 0xA6, 0x37, 0xED, 0x6B, 0x0B, 0xFF, 0x5C, 0xB6,
            0xF4,
            0x06, 0xB7, 0xED, 0xEE, 0x38, 0x6B, 0xFB, 0x5A, 0x89, 0x9F, 0xA5, 0xAE, 0x9F, 0x24, 0x11, 0x7C,
            0x4B,
            0x1F, 0xE6, 0x49, 0x28, 0x66, 0x51, 0xEC, 0xE6, 0x53, 0x81,
        ]
        prime.replaceSubrange(8..<120, with: middle)
        let octets: [UInt8] =
            switch value {
            case "zero": [0, 0]
            case "one": [UInt8](repeating: 0, count: 127) + [1]
            case "prime-1": prime.dropLast() + [0xFE]
            case "prime": prime
            case "long": [1] + prime
            default: []
            }
        let fault = await client.fault(
            Self.root,
            SecretsPeer.service,
            "OpenSession",
            [
                .string("dh-ietf1024-sha256-aes128-cbc-pkcs7"),
                .variant(.octets(try BusOctets(copying: octets))),
            ]
        )
        #expect(fault == "org.freedesktop.DBus.Error.InvalidArgs")
    }

    // MARK: Collections

    @Test("the default collection has four paths' worth of names, and the one in memory ends with the door")
    func collections() async throws {
        for (alias, path) in [
            ("default", Self.login), ("login", Self.login), ("session", Self.root + "/collection/session"),
            ("x", "/"),
        ] {
            #expect(
                try await client.call(Self.root, SecretsPeer.service, "ReadAlias", [.string(alias)]) == [
                    .objectPath(path)
                ]
            )
        }
        let (item, _) = try await client.create("kept", ["n": "1"])
        #expect(
            try await client.property(Self.root + "/aliases/default", SecretsPeer.collection, "Items")?
                .paths == [item]
        )
        let (brief, _) = try await client.create(
            "brief",
            ["n": "1"],
            "b",
            in: Self.root + "/collection/session"
        )
        #expect(try await client.search(["n": "1"]).unlocked == [item, brief])
        #expect(try await client.read([item, brief]) == [item: SecretServiceWorld.secret, brief: "b"])
        let supported = "org.freedesktop.DBus.Error.NotSupported"
        #expect(await client.fault(Self.login, SecretsPeer.collection, "Delete") == supported)
        #expect(
            await client.fault(Self.root + "/collection/session", SecretsPeer.collection, "Delete")
                == supported
        )

        try await world.stopDoor()
        try await world.startDoor()
        let later = try await world.client()
        #expect(try await later.search(["n": "1"]).unlocked == [item])
    }

    @Test("a collection is made, renamed, given an alias, found by it, and deleted with what is in it")
    func madeCollection() async throws {
        let label = SecretsPeer.collection + ".Label"
        func make(_ text: String, _ alias: String = "") async throws -> String {
            try await client.call(
                Self.root,
                SecretsPeer.service,
                "CreateCollection",
                [.properties([label: .string(text)]), .string(alias)]
            )[0].text ?? ""
        }
        let work = try await make("My work/../é", "work")
        #expect(work == Self.root + "/collection/My_work_____")
        #expect(try await make("other", "work") == work)
        let second = try await make("My work/../é")
        #expect(second == work + "_2")
        #expect(
            try await client.property(Self.root, SecretsPeer.service, "Collections")?.paths?.count == 4
        )
        let (item, _) = try await client.create("w", ["n": "w"], in: Self.root + "/aliases/work")
        #expect(item.hasPrefix(work + "/"))
        #expect(
            try await client.call(
                Self.login,
                SecretsPeer.collection,
                "SearchItems",
                [.textPairs(["n": "w"])]
            )[0].paths == []
        )
        #expect(
            try await client.call(work, SecretsPeer.collection, "SearchItems", [.textPairs(["n": "w"])])[0]
                .paths == [item]
        )
        _ = try await client.call(
            work,
            "org.freedesktop.DBus.Properties",
            "Set",
            [.string(SecretsPeer.collection), .string("Label"), .variant(.string("New"))]
        )
        #expect(try await client.property(work, SecretsPeer.collection, "Label") == .string("New"))
        _ = try await client.call(
            Self.root,
            SecretsPeer.service,
            "SetAlias",
            [.string("default"), .objectPath(work)]
        )
        #expect(try await client.create("d", ["n": "d"]).item.hasPrefix(work + "/"))
        #expect(try await client.call(work, SecretsPeer.collection, "Delete") == [.objectPath("/")])
        #expect(try await client.search([:]).unlocked.isEmpty)
        // The alias is free again.
        #expect(try await client.create("d", ["n": "d"]).item.hasPrefix(Self.login + "/"))
        #expect(await client.fault(work, SecretsPeer.collection, "Delete") == SecretsPeer.noSuchObject)
    }

    @Test("a change is told on each path of the collection")
    func signals() async throws {
        let other = try await world.client()
        try await other.peer.subscribe("type='signal',sender='org.freedesktop.secrets'")
        let (item, _) = try await client.create("mail", ["user": "a"])
        _ = try await client.create("mail", ["user": "a"], "2", replaces: true)
        _ = try await client.call(item, SecretsPeer.item, "Delete")
        let paths: Set = [Self.login, Self.root + "/aliases/default", Self.root + "/aliases/login"]
        for member in ["ItemCreated", "ItemChanged", "ItemDeleted"] {
            try await Deadline.wait(for: member) {
                Set(other.received(member).map(\.path)) == paths ? true : nil
            }
            #expect(other.received(member).allSatisfy { $0.arguments == [.objectPath(item)] })
        }
    }
}
