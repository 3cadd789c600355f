import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

/// sqlite3(1), with which rows are edited without the daemon.
private enum SQLiteProgram {
    static let path = "/usr/bin/sqlite3"
    static var isThere: Bool { FileManager.default.isExecutableFile(atPath: path) }
}

@Suite(
    "Damaged items on a TPM",
    .enabled(if: SQLiteProgram.isThere && TPMMachine.isThere, "touchstoned, swtpm or sqlite3 is missing"),
    .timeLimit(.minutes(20))
)
struct TPMRepairTests {
    enum Damage: String, CaseIterable {
        case older, missing, exchanged, record, log

        /// The secrets that are refused before a repair, and below, those lost by it.
        var refused: Set<String> {
            switch self {
            case .older, .missing: ["two"]
            case .exchanged: ["two", "three"]
            case .record, .log: ["one", "two", "three"]
            }
        }
        var lost: Set<String> {
            switch self {
            case .missing: ["two"]
            case .exchanged: ["two", "three"]
            case .older, .record, .log: []
            }
        }

        func sql(_ older: String) -> String {
            let content = "keys, data"
            let all = "reference, scope, first, name, second, label, attributes, keys, data"
            func row(_ place: Int) -> String {
                "(SELECT id FROM older.items ORDER BY id LIMIT 1 OFFSET \(place))"
            }
            func put(_ columns: String, _ from: Int, _ to: Int) -> String {
                """
                UPDATE items SET (\(columns)) = (SELECT \(columns) FROM older.items WHERE id = \(row(from)))
                WHERE id = \(row(to));
                """
            }
            let attach = "ATTACH '\(older)' AS older;"
            return switch self {
            case .older: attach + put(all, 1, 1)
            case .missing: attach + "DELETE FROM items WHERE id = \(row(1));"
            case .exchanged: attach + put(content, 1, 2) + put(content, 2, 1)
            case .record: "UPDATE item_set SET sealed = randomblob(76) WHERE id > 1000;"
            case .log: ""
            }
        }
    }

    private static func run(_ keychain: PrivateKeychain, _ arguments: String, input: String? = nil)
        async throws
        -> Finished
    {
        try await keychain.command(arguments, input: input)
    }

    private static func edit(_ keychain: PrivateKeychain, _ sql: String) async throws {
        let edited = try await Finished.running([SQLiteProgram.path, keychain.file("items.sqlite"), sql])
        guard edited.status == 0, edited.output.isEmpty else { throw Surprise("sqlite3: \(edited.output)") }
    }

    /// A machine with three secrets of the command, "two" changed since the older file; the daemon is stopped.
    private static func machine(killed: Bool) async throws -> (TPMMachine, older: String) {
        let machine = try await TPMMachine.ready(settings: PrivateKeychain.keepsLog)
        let keychain = machine.keychain
        for name in ["one", "two", "three"] {
            let set = try await run(keychain, "set \(name) --require none", input: "secret \(name)")
            guard set.status == 0 else { throw Surprise(set.output) }
        }
        keychain.stop(with: SIGTERM)
        let older = keychain.home.appending("older.sqlite")
        try FileManager.default.copyItem(atPath: keychain.file("items.sqlite"), toPath: older)
        try await keychain.start()
        try keychain.unlock()
        let set = try await run(keychain, "set two --replace --require none", input: "newer two")
        guard set.status == 0 else { throw Surprise(set.output) }
        keychain.stop(with: killed ? SIGKILL : SIGTERM)
        return (machine, older)
    }

    private static func log(_ keychain: PrivateKeychain) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: keychain.file("items.sqlite-wal"))))
    }

    /// Flips a bit in the last frame of the log, so many bytes before its end.
    private static func flipLog(_ keychain: PrivateKeychain, beforeEnd distance: Int = 300) throws {
        var octets = try log(keychain)
        // Where the last change ends.
        let mark = try Data(contentsOf: URL(fileURLWithPath: keychain.file("items.sqlite-mark")))
        let end = mark[8..<16].reduce(0) { $0 << 8 | Int($1) }
        octets[end - distance] ^= 16
        try Data(octets).write(to: URL(fileURLWithPath: keychain.file("items.sqlite-wal")))
        unsafe chmod(keychain.file("items.sqlite-wal"), 0o600)
    }

    // The TPM must know a repaired store's generation, or the next start would report an older copy.
    @Test(
        "commands agree on the damage, a repair keeps the intact items, and the next start finds no fault",
        arguments: Damage.allCases
    )
    func repairs(_ damage: Damage) async throws {
        let (machine, older) = try await Self.machine(killed: damage == .log)
        let keychain = machine.keychain
        if damage == .log {
            try Self.flipLog(keychain)
        } else {
            try await Self.edit(keychain, damage.sql(older))
        }
        let damaged = try Data(contentsOf: URL(fileURLWithPath: keychain.file("items.sqlite")))
        try await machine.chip.reset()
        try await keychain.start()
        try keychain.unlock()
        for name in ["one", "two", "three"] {
            let got = try await Self.run(keychain, "get \(name)")
            if damage.refused.contains(name) {
                #expect(got.status == 9 && got.output.contains("touchstone repair"), "\(name): \(got)")
            } else {
                #expect(got.status == 0 && got.output == "secret \(name)", "\(name): \(got)")
            }
        }
        for arguments in damage == .exchanged ? ["status", "doctor"] : ["list", "status", "doctor"] {
            let result = try await Self.run(keychain, arguments)
            #expect(result.status == 9 && result.output.contains("damaged"), "\(arguments): \(result)")
            #expect(result.output.contains("touchstone repair"), "\(arguments): \(result)")
            #expect(!result.output.contains("older copy"), "\(arguments): \(result)")
        }
        // Without --accept nothing is changed, in this run and the next.
        for _ in 0..<2 {
            let shown = try await Self.run(keychain, "repair")
            #expect(shown.status == 9 && shown.output.contains("--accept"), "\(shown)")
            try await machine.restart()
            #expect(try Data(contentsOf: URL(fileURLWithPath: keychain.file("items.sqlite"))) == damaged)
        }
        let accepted = try await Self.run(keychain, "repair --accept")
        #expect(accepted.status == 0 && accepted.output.contains("items.sqlite.damaged-1"), "\(accepted)")
        // In this run, after a change, and after restarts of daemon and machine.
        for round in 0..<3 {
            if round == 1 { try await keychain.stopped {} }
            if round == 2 { try await machine.restart() }
            if round > 0 { try keychain.unlock() }
            for name in ["one", "two", "three"] {
                let got = try await Self.run(keychain, "get \(name)")
                if damage.lost.contains(name) {
                    #expect(got.status == 3, "\(round) \(name): \(got)")
                } else {
                    let value = name == "two" && damage != .older ? "newer two" : "secret \(name)"
                    #expect(got.status == 0 && got.output == value, "\(round) \(name): \(got)")
                }
            }
            for arguments in ["list", "status", "repair"] {
                let result = try await Self.run(keychain, arguments)
                #expect(result.status == 0, "\(round) \(arguments): \(result)")
            }
            let doctor = try await Self.run(keychain, "doctor")
            #expect(
                !doctor.output.contains("damaged") && doctor.output.contains("authentic"),
                "\(round) \(doctor)"
            )
            let set = try await Self.run(keychain, "set more\(round) --require none", input: "more")
            #expect(set.status == 0, "\(round) \(set)")
        }
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: keychain.file("items.sqlite.damaged-1"))) == damaged
        )

        // The former file is not accepted in place of the repaired one.
        try await keychain.stopped {
            try FileManager.default.removeItem(atPath: keychain.file("items.sqlite"))
            try? FileManager.default.removeItem(atPath: keychain.file("items.sqlite-wal"))
            try FileManager.default.copyItem(atPath: older, toPath: keychain.file("items.sqlite"))
        }
        try? keychain.unlock()
        let got = try await Self.run(keychain, "get one")
        #expect(got.status == 9, "\(got)")
        try await keychain.expectLogged("hardware counted")
    }

    // Regression: the generation was not compared if the log or the record was found damaged first.
    @Test(
        "an older copy is reported as such even if its log is damaged, and a repair does not accept it"
    )
    func olderAndDamaged() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("one", "first")
        try keychain.add("guarded", "kept", .devicePasscode)
        keychain.stop(with: SIGKILL)
        let older = try DataCopy.store(of: keychain)
        try await keychain.start()
        try keychain.unlock()
        // Deleting a protected item increments the counter at once.
        try keychain.delete("guarded")
        keychain.stop(with: SIGTERM)
        try older.put(into: keychain)
        // In the checksum of the last page (1024 bytes): no item's only version is lost, wherever it is.
        try Self.flipLog(keychain, beforeEnd: 1024 + 4)
        try await machine.chip.reset()
        try await keychain.start()
        for round in 0..<2 {
            if round == 1 { try await machine.restart() }
            #expect(
                keychain.failure {
                    try keychain.unlock(); _ = try keychain.value("guarded")
                } != nil
            )
            for accepting in [false, true] {
                let refusal = keychain.failure {
                    _ = try keychain.client.repair(keychain.prompt(), accepting: accepting)
                }
                #expect(
                    refusal?.status == .decode && refusal?.cause == .rolledBack,
                    "\(round): \(refusal as Any)"
                )
                #expect(refusal?.remedy == .recover)
            }
            #expect(keychain.failure { _ = try keychain.value("guarded") }?.status == .decode)
            #expect(try keychain.client.status().storeFaults.isEmpty == false)
            // A passcode change would create new counters, and make the older copy the newest.
            try keychain.tellPerson([
                .types(PrivateKeychain.passcode), .types("granite willow saffron meadow copper"),
            ])
            let changed = keychain.failure { try keychain.client.changePasscode(keychain.prompt()) }
            #expect(changed?.cause == .logDamaged, "\(changed as Any)")
        }
        // The recovery code accepts it.
        try keychain.tellPerson([])
        try keychain.client.recover(keychain.prompt())
        let repair = try keychain.client.repair(keychain.prompt(), accepting: true)
        // The bit is not corrected: the last commit cannot be proved, nor the record of the set in it. The rows
        // that are left are kept.
        #expect(repair.isLogDamaged && repair.isRecordDamaged && !repair.isLogSaved, "\(repair)")
        #expect(repair.kept == 2 && repair.missing == 0 && repair.items.isEmpty, "\(repair)")
        for _ in 0..<2 {
            #expect(try keychain.value("one") == "first")
            #expect(try keychain.value("guarded") == "kept")
            try await machine.restart()
            try keychain.unlock()
        }
    }
}
