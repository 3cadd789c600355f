import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Files changed behind the daemon's back", .serialized)
struct DamagedFileTests {
    private static let sqlite = "/usr/bin/sqlite3"
    private static var hasSQLite: Bool { access(sqlite, X_OK) == 0 }

    /// Six items in files that no daemon holds, with the log checkpointed.
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

    /// Reads each item; counts the unreadable ones, and expects the right value of all others.
    private static func unreadable(_ keychain: PrivateKeychain, _ items: [String: String]) throws -> Int {
        var unreadable = 0
        for (account, value) in items {
            do {
                let found = try keychain.value(account)
                #expect(found == value, "\(account) has another's data")
            } catch let error as KeychainError {
                // Never "not found" for an item that exists.
                #expect(error != KeychainError(.itemNotFound), "\(account) looks absent")
                unreadable += 1
            }
        }
        return unreadable
    }

    // Catches items sealed without associated data, and look-ups that trust SQLite.
    @Test("a flipped bit in the items file is detected, and the other items remain readable")
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

    // Catches a daemon that does not ask for the recovery code if the keychain is damaged.
    @Test("one damaged file of those that open a keychain: the passcode opens it, or the recovery code")
    func singleDamage() async throws {
        let (keychain, image, items) = try await Self.prepared()
        for (name, damage, needsCode) in [
            ("keybag", image.flipped("keybag", bit: 77), false),
            ("no keybag", image.changed("keybag") { _ in nil }, false),
            ("copy", image.changed("keybag.copy") { [UInt8](repeating: 0, count: $0.count) }, false),
            ("device key", image.flipped("device.key", bit: 77), true),
            ("empty device key", image.changed("device.key") { _ in [] }, true),
            ("no device key", image.changed("device.key") { _ in nil }, true),
        ] {
            try damage.write(to: keychain.layout.dataDirectory)
            try await keychain.start()
            if needsCode {
                #expect(throws: KeychainError.self, "\(name)") { try keychain.unlock() }
                try keychain.client.recover(keychain.prompt())
            } else {
                try keychain.unlock()
            }
            #expect(try Self.unreadable(keychain, items) == 0, "\(name)")
            keychain.stop(with: SIGTERM)
            try await keychain.start()
            try keychain.unlock()
            keychain.stop(with: SIGKILL)
        }
    }

    // Catches a daemon that creates a new keybag in the place of an unreadable one.
    @Test("two damaged keybag files, or a damaged device key or attempt file, open nothing and stay")
    func flippedKeys() async throws {
        let (keychain, image, items) = try await Self.prepared()
        let keybag = image.files["keybag"]?.count ?? 0
        func both(_ damage: (FileImage, String) -> FileImage) -> FileImage {
            damage(damage(image, "keybag"), "keybag.copy")
        }
        let damages: [(String, FileImage)] = [
            ("first byte of the keybag", both { $0.flipped($1, bit: 3) }),
            ("middle of the keybag", both { $0.flipped($1, bit: keybag * 4) }),
            ("last byte of the keybag", both { $0.flipped($1, bit: keybag * 8 - 1) }),
            ("device key", image.flipped("device.key", bit: 77)),
            ("half a keybag", both { $0.changed($1) { Array($0.prefix($0.count / 2)) } }),
            ("empty keybag", both { $0.changed($1) { _ in [] } }),
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

        // Both slots of the attempt file: without a count, nothing is tried.
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

        // With the original files everything works again.
        try image.write(to: keychain.layout.dataDirectory)
        try await keychain.start()
        try keychain.unlock()
        #expect(try Self.unreadable(keychain, items) == 0)
    }

    // Catches a set digest that misses added, removed or restored rows.
    @Test(
        "a check finds rows that were exchanged, removed, duplicated or restored from an older file",
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
        // The older file lacks one update of the first item.
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
            // Absent if its row was removed, and the older value if its row was restored; both were reported
            // above. Never another item's data.
            let found = try? keychain.value(account)
            #expect(found == nil || found == value || found == items[account], "\(account)")
        }
    }
}

extension FileImage {
    /// A copy with a changed file; nil removes the file.
    func changed(_ name: String, _ change: ([UInt8]) -> [UInt8]?) -> FileImage {
        var image = self
        image.files[name] = change(files[name] ?? [])
        return image
    }
}
