import Foundation
import Glibc
import KeychainClient
@_spi(AuthenticationEngine) import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainEngine

/// Damaged files, and the expected result of their repair.
struct DamagedStore: Sendable {
    enum Damage: String, CaseIterable {
        /// An outdated row, a restored deleted row, a row with wrong data, and a missing row.
        case rows
        /// The item-set record, without which it is unknown which rows are current.
        case record
        /// One flipped bit in the log of a killed daemon; everything can be repaired.
        case log
        /// Several flipped bits in one record of the log.
        case logBeyondRepair
    }

    /// The possible results of a look-up while the items are damaged.
    enum Answer: Hashable {
        case value(String)
        case absent
        case damaged
    }

    let damage: Damage
    let image: FileImage
    /// The allowed results for each account before the repair.
    let before: [String: Set<Answer>]
    /// The findings of a repair, and the items after it.
    let found: StoreRepair
    let after: [String: String]

    private static let sqlite = "/usr/bin/sqlite3"
    static var isPossible: Bool { Strace.isThere && access(sqlite, X_OK) == 0 }

    init(_ damage: Damage) async throws {
        self.damage = damage
        let keychain = try await PrivateKeychain.withFormerItems(settings: PrivateKeychain.keepsLog)
        var present: [String: String] = [:]
        for change in Change.former { present[change.account] = change.value }
        for number in 0..<6 {
            let value = "secret \(number) " + String(repeating: "x", count: 300)
            try keychain.add("item \(number)", value)
            present["item \(number)"] = value
        }
        let file = keychain.layout.dataDirectory + "/items.sqlite"
        let older = keychain.home.appending("older.sqlite")
        if damage == .rows {
            keychain.stop(with: SIGTERM)
            try FileManager.default.copyItem(atPath: file, toPath: older)
            try await keychain.start()
            try keychain.unlock()
        }
        try keychain.update("item 1", "newer")
        try keychain.delete("item 2")
        (present["item 1"], present["item 2"]) = ("newer", nil)
        var before: [String: Set<Answer>] = ["item 2": [.absent, .damaged]]
        switch damage {
        case .rows:
            keychain.stop(with: SIGTERM)
            let columns = "reference, scope, first, name, second, label, attributes, keys, data"
            try await Self.edit(
                file,
                """
                ATTACH '\(older)' AS older;
                UPDATE items SET (\(columns)) = (SELECT \(columns) FROM older.items WHERE id = \(Self.row(4)))
                WHERE id = \(Self.row(4));
                INSERT INTO items SELECT * FROM older.items WHERE id = \(Self.row(5));
                UPDATE items SET data = zeroblob(length(data)) WHERE id = \(Self.row(6));
                DELETE FROM items WHERE id = \(Self.row(7));
                """,
                log: keychain.home.appending("sqlite.log")
            )
            for (account, value) in present { before[account] = [.value(value)] }
            for account in ["item 1", "item 3", "item 4"] { before[account] = [.damaged] }
            (present["item 3"], present["item 4"]) = (nil, nil)
        case .record:
            keychain.stop(with: SIGTERM)
            let sql = "UPDATE item_set SET sealed = randomblob(76) WHERE id > 1000"
            try await Self.edit(file, sql, log: keychain.home.appending("sqlite.log"))
            for account in present.keys { before[account] = [.damaged] }
        case .log, .logBeyondRepair:
            keychain.stop(with: SIGKILL)
            for account in present.keys { before[account] = [.damaged] }
        }
        var image = try FileImage(of: keychain.layout.dataDirectory)
        if damage == .log || damage == .logBeyondRepair {
            var log = try #require(image.files["items.sqlite-wal"])
            // Where the last change ends.
            let end = try #require(image.files["items.sqlite-mark"])[8..<16].reduce(0) { $0 << 8 | Int($1) }
            let place = end - 20 * 1048
            log[place] ^= 16
            if damage == .logBeyondRepair { log[place - 300] ^= 1 }
            image.files["items.sqlite-wal"] = log
        }
        self.image = image
        self.before = before
        // The result of an uninterrupted repair.
        (found, after) = try await OpenedStore.opening(image) { opened in
            let repair = try await opened.engine.keybag.repair(proof: opened.proof, accepting: true)
            return (repair, try await OpenedImage.items(of: opened.engine))
        }
        if damage != .logBeyondRepair {
            var wanted = present
            if damage == .rows { wanted["item 1"] = "secret 1 " + String(repeating: "x", count: 300) }
            #expect(after == wanted, "\(damage)")
        } else {
            #expect(after.count >= present.count - 2 && after.allSatisfy { present[$0.key] == $0.value })
        }
        #expect(found.kept == after.count && found.keptAside == "items.sqlite.damaged-1", "\(found)")
    }

    /// The ID of the row created in position `place`, from 0.
    private static func row(_ place: Int) -> String {
        "(SELECT id FROM older.items ORDER BY id LIMIT 1 OFFSET \(place))"
    }

    private static func edit(_ file: String, _ sql: String, log: String) async throws {
        let sqlite = try await ChildProcess.start(Self.sqlite, [file, sql], log: log)
        let end = try await sqlite.waitUntilEnd()
        let said = try String(contentsOfFile: log, encoding: .utf8)
        guard end == 0, said.isEmpty else { throw TestKitError.unexpected("sqlite3: \(said)") }
    }

    /// The faults of the files at one moment of a repair; empty if there are none.
    ///
    /// The files must be the damaged ones, or the repaired ones with the damaged ones kept aside; both can be
    /// checked and repaired as usual.
    func faults(in moment: FileImage, isAcknowledged: Bool) async throws -> [String] {
        var faults: [String] = []
        try await OpenedStore.opening(moment) { opened in
            let report = opened.engine.items.check()
            let told = opened.engine.items.storeFaults()
            let isRepaired = report.isSetAuthentic && report.damaged == 0 && report.faults.isEmpty
            if isRepaired != told.isEmpty { faults.append("check and status differ: \(report), \(told)") }
            if isAcknowledged, !isRepaired { faults.append("the repair was acknowledged: \(told)") }
            faults += try await answerFaults(opened.engine, isRepaired: isRepaired)
            faults += try fileFaults(in: opened.path, isRepaired: isRepaired)

            var shown = try await opened.engine.keybag.repair(proof: opened.proof, accepting: false)
            var accepted = try await opened.engine.keybag.repair(proof: opened.proof, accepting: true)
            if isRepaired {
                if !shown.isWell || shown.kept != after.count {
                    faults.append("repaired, and finds \(shown)")
                }
                if accepted.keptAside != nil { faults.append("repaired, and was again: \(accepted)") }
            } else {
                if accepted.keptAside == nil { faults.append("nothing is kept aside") }
                (shown.keptAside, accepted.keptAside) = (found.keptAside, found.keptAside)
                if shown != found || accepted != found { faults.append("finds \(shown), then \(accepted)") }
            }
            faults += try await answerFaults(opened.engine, isRepaired: true)
            faults += try fileFaults(in: opened.path, isRepaired: true)
        }
        return faults
    }

    private func answerFaults(_ engine: KeychainEngine, isRepaired: Bool) async throws -> [String] {
        var faults: [String] = []
        for (account, allowed) in before {
            let answer: Answer
            do {
                let found = try await OpenedImage.items(of: engine, account: account)[account]
                answer = found.map { .value($0) } ?? .absent
            } catch let error as KeychainError where error.status == .decode {
                answer = .damaged
            }
            let wanted = isRepaired ? [after[account].map { .value($0) } ?? .absent] : allowed
            if !wanted.contains(answer) { faults.append("\(account): \(answer), repaired: \(isRepaired)") }
        }
        return faults
    }

    /// Checks that the damaged files are in place or kept aside, and that no other file is left.
    private func fileFaults(in directory: String, isRepaired: Bool) throws -> [String] {
        let files = try FileImage(of: directory).files
        var faults: [String] = []
        func isKept(as name: String) -> Bool {
            let log = image.files["items.sqlite-wal"] ?? []
            return files[name] == image.files["items.sqlite"]
                && (log.isEmpty || files[name + "-wal"] == log)
        }
        let names = isRepaired ? (1...3).map { "items.sqlite.damaged-\($0)" } : ["items.sqlite"]
        if !names.contains(where: isKept) {
            faults.append("the damaged files are not kept: \(files.keys.sorted())")
        }
        for name in files.keys where name == "repair" || name.contains(".new") || name.contains(".saved") {
            faults.append("\(name) is left")
        }
        return faults
    }
}

/// Files opened by this process, with a passcode proof.
struct OpenedStore {
    let engine: KeychainEngine
    let proof: AuthenticationProof
    let path: String

    /// Opens a copy of the files with the passcode while `body` runs.
    static func opening<R>(
        _ image: FileImage,
        passcode: String = PrivateKeychain.passcode,
        _ body: (OpenedStore) async throws -> R
    ) async throws -> R {
        let home = try TemporaryDirectory()
        let path = home.appending("data")
        try image.write(to: path)
        let engine = try OpenedImage.engine(StoreDirectory(path: path))
        let typed = SecretBytes(copying: Array(passcode.utf8))
        guard case .opened(let key) = try await engine.keybag.open(passcode: typed) else {
            throw TestKitError.unexpected("the passcode opens nothing")
        }
        let proof = AuthenticationProof(
            factors: [.passcode],
            satisfied: [],
            operation: .useItem,
            time: BootTime(bootID: "tests", nanoseconds: 1),
            context: ContextID(connection: 1, number: 1),
            passcodeKey: key,
            isOfWeakSensor: false
        )
        let result = try await body(OpenedStore(engine: engine, proof: proof, path: path))
        await engine.close()
        return result
    }
}
