import Foundation
import GRDB
import KeychainEngine
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("A keychain of format 1 opens and is converted to the current format")
struct FormerFormatTests {
    /// A keychain written by format 1: 43 items, two of the last changes only in the log.
    private func former() throws -> TestKeychain {
        let keychain = TestKeychain()
        let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Fixtures/store-1")
        try FileManager.default.copyItem(atPath: fixture.path, toPath: keychain.path)
        unsafe chmod(keychain.path, 0o700)
        for name in try FileManager.default.contentsOfDirectory(atPath: keychain.path) {
            unsafe chmod(keychain.file(name), 0o600)
        }
        return keychain
    }

    private func version(_ keychain: TestKeychain) throws -> UInt8 { try keychain.octets("items.sqlite")[63] }

    private func expectAll(_ engine: KeychainEngine) async throws {
        for index in 0..<40 where index != 5 {
            let wanted = index == 6 || index == 7 ? "newer \(index)" : "secret \(index)"
            #expect(try await engine.secret("account \(index)") == wanted)
        }
        #expect(try await engine.secret("in the log") == "in the log")
        #expect(try await engine.secret("large")?.count == 6000)
        await #expect(throws: KeychainError(.itemNotFound)) { try await engine.secret("account 5") }
        await #expect(throws: NeedsAuthentication.self) { try await engine.secret("protected") }
    }

    @Test("all items are readable and the keychain accepts changes")
    func opens() async throws {
        let keychain = try former()
        #expect(try version(keychain) == 1)
        for round in 0..<2 {
            let engine = try await keychain.restart()
            try await expectAll(engine)
            let report = await engine.check()
            #expect(report.isSetAuthentic && report.damaged == 0 && report.faults.isEmpty, "\(report)")
            #expect(report.items == 43 + round)
            try await engine.add("new \(round)")
            await engine.close()
            #expect(try version(keychain) == 4)
        }
        #expect(!keychain.audit.kinds.contains(.tamperDetected))
    }

    @Test("a format 1 keychain that does not match its record is damaged and left unchanged")
    func tampered() async throws {
        for sql in [
            "DELETE FROM items WHERE id = 2", "UPDATE items SET name = randomblob(8) WHERE id = 2",
            "UPDATE item_set SET sealed = randomblob(76)",
        ] {
            let keychain = try former()
            let queue = try DatabaseQueue(path: keychain.file("items.sqlite"))
            try await queue.writeWithoutTransaction { database in
                try database.execute(sql: sql)
                try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            }
            try queue.close()
            unsafe chmod(keychain.file("items.sqlite"), 0o600)
            let engine = try await keychain.restart()
            await #expect(throws: KeychainError(.decode)) { try await engine.secret("account 0") }
            await #expect(throws: KeychainError(.decode)) { try await engine.secret("account 1") }
            await #expect(throws: KeychainError(.decode)) { try await engine.add("new") }
            #expect(keychain.audit.kinds.contains(.tamperDetected))
            await engine.close()
            #expect(try version(keychain) == 1, "\(sql)")
        }
    }
}
