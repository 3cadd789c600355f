import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Files that were changed behind the daemon's back", .serialized)
struct DamagedFileTests {
    private static let sqlite = "/usr/bin/sqlite3"
    private static var hasSQLite: Bool { access(sqlite, X_OK) == 0 }

    /// Six items in files that no daemon holds, their log brought into the file.
    private static func prepared() async throws -> (PrivateKeychain, FileImage, [String: String]) {
        let keychain = try await PrivateKeychain.withFormerItems()
        for number in 0..<3 { try keychain.add("item \(number)", String(repeating: "\(number)", count: 900)) }
        try keychain.add("gone", "gone")
        try keychain.delete("gone")
        let items = try keychain.all()
        try keychain.client.lock()
        keychain.stop(with: SIGTERM)
        return (keychain, try FileImage(of: keychain.layout.dataDirectory), items)
    }

    /// Reads each item; what cannot be read is counted, and any other answer than its own value is a fault.
    private static func unreadable(_ keychain: PrivateKeychain, _ items: [String: String]) throws -> Int {
        var unreadable = 0
        for (account, value) in items {
            do {
                let found = try keychain.value(account)
                #expect(found == value, "\(account) has another's data")
            } catch let error as KeychainError {
                // Never "not found" for an item that is there.
                #expect(error != KeychainError(.itemNotFound), "\(account) looks absent")
                unreadable += 1
            }
        }
        return unreadable
    }

    // Items sealed without associated data, or found by what SQLite says alone.
    @Test("a flipped bit of the items is found where it matters, and the other items stay readable")
    func flippedItems() async throws {
        let (keychain, image, items) = try await Self.prepared()
        let bits = (image.files["items.sqlite"]?.count ?? 0) * 8
        try #require(bits > 0)
        var coins = SplitMix64(seed: 6)
        var found = 0
        let flips = 24
        for _ in 0..<flips {
            let bit = Int.random(in: 0..<bits, using: &coins)
            try image.flipped("items.sqlite", bit: bit).write(to: keychain.layout.dataDirectory)
            try await keychain.start()
            try keychain.unlock()
            let unreadable = try Self.unreadable(keychain, items)
            let report = try keychain.client.check()
            let isReported = report.damaged > 0 || !report.isSetAuthentic || !report.faults.isEmpty
            #expect(
                unreadable == 0 || isReported,
                "bit \(bit): \(unreadable) items cannot be read: \(report)"
            )
            if isReported { found += 1 }
            keychain.stop(with: SIGKILL)
        }
        #expect(found >= flips / 4, "\(found) of \(flips) flips were found: most of the file is items")
    }

    // A daemon that makes a new keybag in the place of one it cannot read.
    @Test("a damaged keybag, device key or record of attempts opens nothing and is never made anew")
    func flippedKeys() async throws {
        let (keychain, image, items) = try await Self.prepared()
        let keybag = image.files["keybag"]?.count ?? 0
        let damages: [(String, FileImage)] = [
            ("first byte of the keybag", image.flipped("keybag", bit: 3)),
            ("middle of the keybag", image.flipped("keybag", bit: keybag * 4)),
            ("last byte of the keybag", image.flipped("keybag", bit: keybag * 8 - 1)),
            ("device key", image.flipped("device.key", bit: 77)),
            ("half a keybag", image.changed("keybag") { Array($0.prefix($0.count / 2)) }),
            ("empty keybag", image.changed("keybag") { _ in [] }),
            ("no device key", image.changed("device.key") { _ in nil }),
        ]
        for (name, damage) in damages {
            try damage.write(to: keychain.layout.dataDirectory)
            try await keychain.start()
            #expect(try keychain.client.status().keybag == .damaged, "\(name)")
            #expect(throws: KeychainError.self, "\(name)") { try keychain.unlock() }
            #expect(throws: KeychainError.self, "\(name)") { try keychain.client.setUp(keychain.prompt()) }
            #expect(throws: KeychainError.self, "\(name)") { try keychain.add("new", "new") }
            keychain.stop(with: SIGKILL)
            let after = try FileImage(of: keychain.layout.dataDirectory)
            #expect(after.files["keybag"] == damage.files["keybag"], "\(name)")
        }

        // Both slots of the attempts: no count, no try.
        let attempts = image.flipped("attempts", bit: 80).flipped("attempts", bit: 4096 * 8 + 80)
        for (name, damage) in [
            ("attempts", attempts), ("no attempts", image.changed("attempts") { _ in nil }),
        ] {
            try damage.write(to: keychain.layout.dataDirectory)
            try await keychain.start()
            #expect(throws: KeychainError.self, "\(name)") { try keychain.unlock() }
            #expect(try keychain.client.status().keybag == .locked, "\(name)")
            keychain.stop(with: SIGKILL)
        }

        // What was damaged was all that was wrong.
        try image.write(to: keychain.layout.dataDirectory)
        try await keychain.start()
        try keychain.unlock()
        #expect(try Self.unreadable(keychain, items) == 0)
    }

    // A digest over the set that leaves out what was added, removed or put back.
    @Test(
        "rows that were exchanged, removed, doubled or put back from an older file are found by a check",
        .enabled(if: hasSQLite, "sqlite3 is not installed"),
        arguments: [
            """
            UPDATE items SET data = (SELECT o.data FROM items o WHERE o.id = 7 - items.id) WHERE id IN (1, 6)
            """,
            """
            UPDATE items SET (keys, data) = (SELECT o.keys, o.data FROM items o WHERE o.id = 7 - items.id) \
            WHERE id IN (1, 6)
            """,
            """
            UPDATE items SET (attributes, keys, data) = \
            (SELECT o.attributes, o.keys, o.data FROM items o WHERE o.id = 7 - items.id) WHERE id IN (1, 6)
            """,
            "DELETE FROM items WHERE id = 2",
            """
            INSERT INTO items (reference, scope, first, name, second, label, attributes, keys, data) \
            SELECT randomblob(16), scope, first, randomblob(8), second, label, attributes, keys, data \
            FROM items WHERE id = 3
            """,
            """
            UPDATE items SET (attributes, keys, data) = (SELECT o.attributes, o.keys, o.data \
            FROM older.items o WHERE o.id = items.id) WHERE id = 1
            """,
            "UPDATE item_set SET sealed = (SELECT sealed FROM older.item_set)",
        ]
    )
    func rows(statement: String) async throws {
        let (keychain, image, items) = try await Self.prepared()
        let older = keychain.home.appending("older.sqlite")
        try Data(image.files["items.sqlite"] ?? []).write(to: URL(fileURLWithPath: older))
        // The older file is older by one change of the first item.
        try await keychain.start()
        try keychain.unlock()
        try keychain.update("former 0", "newer")
        var present = items
        present["former 0"] = "newer"
        try keychain.client.lock()
        keychain.stop(with: SIGTERM)
        let file = keychain.layout.dataDirectory + "/items.sqlite"
        let sqlite = try await ChildProcess.start(
            Self.sqlite,
            [file, "ATTACH '\(older)' AS older; \(statement); SELECT changes() > 0"],
            log: keychain.home.appending("sqlite.log")
        )
        #expect(try await sqlite.waitUntilEnd() == 0)
        let output = try String(contentsOfFile: keychain.home.appending("sqlite.log"), encoding: .utf8)
        try #require(output == "1\n", "\(output)")

        try await keychain.start()
        try keychain.unlock()
        let report = try keychain.client.check()
        #expect(report.damaged > 0 || !report.isSetAuthentic, "\(report)")
        for (account, value) in present {
            // Absent where its row was removed, and the older value of a row that was put back whole: both
            // are reported above. Another item's data never.
            let found = try? keychain.value(account)
            #expect(found == nil || found == value || found == items[account], "\(account)")
        }
    }
}

extension FileImage {
    /// The same with another content of a file; nil for no file.
    func changed(_ name: String, _ change: ([UInt8]) -> [UInt8]?) -> FileImage {
        var image = self
        image.files[name] = change(files[name] ?? [])
        return image
    }
}
