import Foundation
import GRDB
import KeychainEngine
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Repair lists damaged items by name and, with the passcode, keeps the intact ones")
struct RepairTests {
    let keychain = TestKeychain()

    /// A closed keychain of 30 items; since the older file, the sixth was updated and the seventh deleted.
    private func prepare() async throws -> String {
        let older = keychain.file("older.sqlite")
        do {
            let (engine, _) = try await keychain.setUp()
            for index in 0..<30 { try await engine.add("account \(index)", "secret \(index)") }
            await engine.close()
        }
        try FileManager.default.copyItem(atPath: keychain.file("items.sqlite"), toPath: older)
        let engine = try await keychain.restart()
        _ = try await engine.update("account 5", secret: "newer 5")
        try await engine.delete("account 6")
        await engine.close()
        return older
    }

    private func edit(_ statements: [String]) throws {
        let queue = try DatabaseQueue(path: keychain.file("items.sqlite"))
        try queue.writeWithoutTransaction { database in
            for sql in statements { try database.execute(sql: sql) }
            try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try queue.close()
        unsafe chmod(keychain.file("items.sqlite"), 0o600)
    }

    private func proof(_ engine: KeychainEngine) async throws -> AuthenticationProof {
        let control = try AccessControl(accessibility: .whenUnlocked, flags: [.devicePasscode])
        return Proofs.of(control, [.passcode], key: try await engine.key(TestKeychain.passcode))
    }

    @Test("repair finds older, deleted, damaged and missing items")
    func rows() async throws {
        let older = try await prepare()
        let put = "reference, scope, first, name, second, label, attributes, keys, data"
        try edit([
            "ATTACH '\(older)' AS older",
            "UPDATE items SET (\(put)) = (SELECT \(put) FROM older.items WHERE id = 6) WHERE id = 6",
            "INSERT INTO items SELECT * FROM older.items WHERE id = 7",
            "UPDATE items SET data = zeroblob(length(data)) WHERE id = 11",
            "DELETE FROM items WHERE id = 16",
        ])
        let wanted: Set<String> = ["older account 5", "deleted account 6", "damaged account 10"]
        for accepting in [false, true, true] {
            let engine = try await keychain.restart()
            let proof = try await proof(engine)
            let before = try keychain.octets("items.sqlite")
            let repair = try await engine.repair(proof: proof, accepting: accepting)
            if accepting, repair.isWell {
                // The second repair.
                #expect(repair.kept == 28)
                #expect(repair.keptAside == nil)
            } else {
                #expect(Set(repair.items.map { "\($0.finding) \($0.name ?? "")" }) == wanted)
                #expect(
                    repair.missing == 1 && repair.kept == 27 && !repair.isLogDamaged
                        && !repair.isRecordDamaged
                )
                if !accepting {
                    #expect(try keychain.octets("items.sqlite") == before, "looking changes nothing")
                    await #expect(throws: KeychainError(.decode)) { try await engine.secret("account 5") }
                } else {
                    let aside = try #require(repair.keptAside)
                    #expect(try keychain.octets(aside) == before)
                    #expect(try await engine.secret("account 5") == "secret 5")
                    await #expect(throws: KeychainError(.itemNotFound)) {
                        try await engine.secret("account 6")
                    }
                    await #expect(throws: KeychainError(.itemNotFound)) {
                        try await engine.secret("account 15")
                    }
                    #expect(try await engine.all().count == 27)
                    #expect(await engine.storeFaults() == [])
                    try await engine.add("account 15", "again")
                }
            }
            await engine.close()
        }
    }

    @Test("repair without the passcode key is refused")
    func forged() async throws {
        _ = try await prepare()
        try edit(["DELETE FROM items WHERE id = 3"])
        let before = try keychain.octets("items.sqlite")
        let engine = try await keychain.restart()
        await #expect(throws: KeychainError(.authFailed)) {
            try await engine.repair(proof: Proofs.forged, accepting: true)
        }
        #expect(try keychain.octets("items.sqlite") == before)
    }

    @Test(
        "with a damaged item-set record, readable items are kept",
        arguments: ["sealed = randomblob(76) WHERE id > 1000", "sealed = zeroblob(28) WHERE id = 0"]
    )
    func damagedRecord(sql: String) async throws {
        _ = try await prepare()
        try edit(["UPDATE item_set SET \(sql)"])
        let engine = try await keychain.restart()
        await #expect(throws: KeychainError(.decode)) { try await engine.secret("account 1") }
        #expect(await !engine.storeFaults().isEmpty)
        let repair = try await engine.repair(proof: try await proof(engine), accepting: true)
        #expect(repair.isRecordDamaged && repair.kept == 29 && repair.items.isEmpty && repair.missing == 0)
        #expect(try await engine.secret("account 5") == "newer 5")
        let report = await engine.check()
        #expect(report.isSetAuthentic && report.damaged == 0 && report.faults.isEmpty)
    }

    @Test("items from a damaged log are salvaged, and the damaged files are kept", arguments: [1, 2])
    func log(flips: Int) async throws {
        let source = TestKeychain()
        let (running, _) = try await source.setUp()
        for index in 0..<20 { try await running.add("account \(index)", "secret \(index)") }
        try FileManager.default.copyItem(atPath: source.path, toPath: keychain.path)
        await running.close()
        var log = try keychain.octets("items.sqlite-wal")
        // In the middle of a page, near its end, where the items are.
        for flip in 0..<flips { log[32 + 40 * 1048 + 900 + flip * 50] ^= 4 }
        try keychain.write(log, to: "items.sqlite-wal")
        let main = try keychain.octets("items.sqlite")
        let engine = try await keychain.restart()
        #expect(await engine.storeFaults() == ["the log of recent changes is damaged"])
        let proof = try await proof(engine)
        for accepting in [false, true] {
            let repair = try await engine.repair(proof: proof, accepting: accepting)
            // Later changes rewrote the page, or one item is lost.
            #expect(repair.isLogDamaged && repair.isLogSaved == (repair.kept == 20), "\(repair)")
            #expect(repair.kept >= 19, "\(repair)")
            guard accepting else {
                #expect(try keychain.octets("items.sqlite-wal") == log)
                continue
            }
            let aside = try #require(repair.keptAside)
            #expect(try keychain.octets(aside) == main)
            #expect(try keychain.octets(aside + "-wal") == log)
            for index in 0..<20 where repair.isLogSaved {
                #expect(try await engine.secret("account \(index)") == "secret \(index)")
            }
            #expect(try await engine.all().count == repair.kept)
            try await engine.add("new")
        }
        await engine.close()
    }

    @Test("a replacement interrupted at any step is completed at the next start", arguments: 0..<4)
    func cutShort(step: Int) async throws {
        _ = try await prepare()
        let manager = FileManager.default
        func path(_ name: String) -> String { keychain.file(name) }
        // The new file is complete; the old one has lost its items.
        try manager.copyItem(atPath: path("items.sqlite"), toPath: path("items.sqlite.new"))
        try edit(["DELETE FROM items"])
        #expect(manager.createFile(atPath: path("items.sqlite-wal"), contents: Data(repeating: 1, count: 40)))
        #expect(manager.createFile(atPath: path("repair"), contents: Data()))
        for name in ["items.sqlite.new", "items.sqlite-wal", "repair"] { unsafe chmod(path(name), 0o600) }
        if step > 0 {
            try manager.moveItem(atPath: path("items.sqlite-wal"), toPath: path("items.sqlite.damaged-1-wal"))
        }
        if step > 1 {
            try manager.moveItem(atPath: path("items.sqlite"), toPath: path("items.sqlite.damaged-1"))
        }
        if step > 2 { try manager.moveItem(atPath: path("items.sqlite.new"), toPath: path("items.sqlite")) }
        let engine = try await keychain.restart()
        #expect(try await engine.all().count == 29)
        #expect(manager.fileExists(atPath: path("items.sqlite.damaged-1")))
        #expect(manager.fileExists(atPath: path("items.sqlite.damaged-1-wal")))
        #expect(!manager.fileExists(atPath: path("repair")))
        await engine.close()
    }
}
