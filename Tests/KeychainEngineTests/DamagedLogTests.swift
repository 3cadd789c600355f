import Foundation
import GRDB
import KeychainModel
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("A damaged write-ahead log is reported and never overwritten")
struct DamagedLogTests {
    let keychain = TestKeychain()
    private static let items = 12

    /// The content of the log.
    enum State: String, CaseIterable {
        /// Additions since the file was created.
        case adds
        /// Additions, updates and deletions, including large items.
        case changes
        /// Everything in the log has been checkpointed into the main file too.
        case writtenBack
        /// Checkpointed and restarted with new salts; old frames remain behind the new ones.
        case begunAnew
    }

    /// The files of a killed daemon: the log's content is only in the log, unless `state` says otherwise.
    ///
    /// - Returns: the values of all items.
    @discardableResult
    private func killed(_ state: State = .adds) async throws -> Set<String> {
        // Without this, on a busy machine the log may be emptied between a deletion and the copy.
        let source = TestKeychain(purgeDelay: TestKeychain.never)
        let (engine, _) = try await source.setUp()
        var values: [String: String] = [:]
        if state == .begunAnew {
            values["former"] = String(repeating: "former ", count: 1000)
            try await engine.add("former", values["former"])
            try await engine.beginLogAnew()
        }
        for index in 0..<Self.items {
            values["account \(index)"] = "secret \(index)"
            try await engine.add("account \(index)", "secret \(index)")
        }
        if state == .changes {
            for index in 0..<4 {
                let value = "newer \(index) " + String(repeating: "x", count: index * 3000)
                values["account \(index)"] = value
                _ = try await engine.update("account \(index)", secret: value)
            }
            for index in 3..<6 {
                values["account \(index)"] = nil
                try await engine.delete("account \(index)")
            }
        }
        if state == .writtenBack { try await engine.beginLogAnew() }
        try FileManager.default.copyItem(atPath: source.path, toPath: keychain.path)
        await engine.close()
        return Set(values.values)
    }

    private func put(_ octets: [UInt8], _ name: String) throws {
        try Data(octets).write(to: URL(fileURLWithPath: keychain.file(name)))
        unsafe chmod(keychain.file(name), 0o600)
    }

    @Test(
        "a flipped bit loses no item silently: all are readable, or the keychain is damaged",
        arguments: State.allCases
    )
    func flips(state: State) async throws {
        let values = try await killed(state)
        let log = try keychain.octets("items.sqlite-wal")
        let main = try keychain.octets("items.sqlite")
        let mark = try keychain.octets("items.sqlite-mark")
        var told = 0
        var coins = SplitMix64(seed: 8)
        let count = CaseSize.of(30, full: 2500)
        for round in 0..<count {
            try put(main, "items.sqlite")
            try put(mark, "items.sqlite-mark")
            var flipped = log
            // Every fourth flip hits the header, whose damage hides everything; the others hit the whole
            // file.
            let bit = Int.random(in: 0..<(8 * (round % 4 == 0 ? 32 : log.count)), using: &coins)
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            try put(flipped, "items.sqlite-wal")
            var engine: KeychainEngine? = try await keychain.restart()
            defer { engine = nil }
            do {
                let found = try await engine.required.all([.service: .string("tests")]).compactMap(\.text)
                #expect(Set(found) == values && found.count == values.count, "bit \(bit)")
            } catch let error as KeychainError {
                #expect(error == KeychainError(.decode) && error.cause == .logDamaged, "bit \(bit): \(error)")
                told += 1
                await #expect(throws: KeychainError(.decode)) { try await engine.required.add("new") }
                await #expect(throws: KeychainError(.decode)) {
                    try await engine.required.secret("not there")
                }
                #expect(await !engine.required.check().faults.isEmpty)
                #expect(try keychain.octets("items.sqlite-wal") == flipped, "bit \(bit): written over")
                #expect(try keychain.octets("items.sqlite") == main, "bit \(bit): written over")
            }
            await engine.required.close()
        }
        #expect(told >= count / 4, "\(told)")
        #expect(keychain.audit.kinds.contains(.tamperDetected))
    }

    @Test("no log that lost a flushed change is whole: any wrong byte, any cut, nothing, or another log")
    func anyPlace() async throws {
        try await killed()
        let log = try keychain.octets("items.sqlite-wal")
        let mark = try #require(LogMark(try keychain.octets("items.sqlite-mark")))
        func verdict(_ log: [UInt8], _ mark: LogMark?) -> ItemLog.Verdict {
            ItemLog(log, mark: mark).judged { _ in nil }.verdict
        }
        #expect(mark.end < log.count && verdict(log, mark) == .whole && verdict(log, nil) == .whole)
        var coins = SplitMix64(seed: 10)
        // Bytes 12 to 15 of the header count checkpoints, and are in its checksum like all others.
        for place in stride(from: 0, to: mark.end, by: CaseSize.of(max(1, mark.end / 50), full: 7)) {
            var hit = log
            hit[place] ^= 1 << UInt8.random(in: 0..<8, using: &coins)
            #expect(verdict(hit, mark) == .damaged, "byte \(place)")
            #expect(verdict(Array(log[..<place]), mark) == .damaged, "cut at \(place)")
        }
        for slot in 0..<(mark.end / 1048) {
            let end = 32 + slot * 1048
            #expect(verdict(Array(log[..<end]), mark) == .damaged, "cut at frame \(slot)")
            let zeros = [UInt8](repeating: 0, count: log.count - end)
            #expect(verdict(Array(log[..<end]) + zeros, mark) == .damaged, "zeros from frame \(slot)")
        }
        var first = log
        first.replaceSubrange(0..<512, with: [UInt8](repeating: 0, count: 512))
        // Without the mark too, as after a power loss that took it.
        #expect(verdict(first, mark) == .damaged && verdict(first, nil) == .damaged)
        first.replaceSubrange(0..<32, with: log[..<32])
        #expect(verdict(first, mark) == .damaged && verdict(first, nil) == .damaged)
        #expect(verdict([UInt8](repeating: 0, count: log.count), mark) == .damaged)
        #expect(verdict([], mark) == .damaged)
        let other = LogMark(salts: Array(mark.salts.reversed()), end: mark.end)
        #expect(verdict(log, other) == .damaged)
        // A mark that is not whole promises nothing: a power loss may tear it.
        var torn = try keychain.octets("items.sqlite-mark")
        torn[9] ^= 1
        #expect(LogMark(torn) == nil && LogMark(Array(torn.prefix(16))) == nil && LogMark([]) == nil)
    }

    @Test("the mark promises nothing once the log was written back, and follows a log that began anew")
    func markFollows() async throws {
        let (engine, _) = try await keychain.setUp()
        func mark() throws -> LogMark? { LogMark(try keychain.octets("items.sqlite-mark")) }
        func salts() throws -> [UInt8] { Array(try keychain.octets("items.sqlite-wal")[16..<24]) }
        try await engine.add("one")
        let first = try #require(try mark())
        #expect(try first.salts == salts())
        try await engine.add("two")
        #expect(try #require(try mark()).end > first.end)
        try await engine.beginLogAnew()
        try await engine.add("three")
        let anew = try #require(try mark())
        #expect(try anew.salts == salts() && anew.salts != first.salts)
        engine.items.withState { $0.store?.settleLog() }
        #expect(try mark() == nil && keychain.octets("items.sqlite-wal").isEmpty)
        try await engine.add("four")
        #expect(try mark() != nil)
        await engine.close()
        #expect(try mark() == nil)
    }

    @Test("an orderly close leaves an empty log")
    func orderlyEnd() async throws {
        do {
            let (engine, _) = try await keychain.setUp()
            for index in 0..<Self.items { try await engine.add("account \(index)", "secret \(index)") }
            #expect(try keychain.octets("items.sqlite-wal").count > 10_000)
            await engine.close()
        }
        #expect(((try? keychain.octets("items.sqlite-wal")) ?? []).isEmpty)
        #expect(try await keychain.restart().all().count == Self.items)
    }

    @Test("the log is emptied after a period without changes")
    func idle() async throws {
        let keychain = TestKeychain(idleDelay: .seconds(1))
        let (engine, _) = try await keychain.setUp()
        try await engine.add("account", "secret")
        let isEmpty = try? await Deadline.wait(for: "an empty log") {
            try keychain.octets("items.sqlite-wal").isEmpty ? true : nil
        }
        #expect(isEmpty == true)
        #expect(try await engine.secret("account") == "secret")
        await engine.close()
    }

    @Test("any bytes yield a verdict and frames")
    func anyOctets() async throws {
        try await killed()
        let log = try keychain.octets("items.sqlite-wal")
        let mark = try #require(LogMark(try keychain.octets("items.sqlite-mark")))
        var coins = SplitMix64(seed: 9)
        func examine(_ octets: [UInt8]) {
            for mark in [mark, nil] {
                let log = ItemLog(octets, mark: mark)
                let isWhole = log.judged { _ in nil }.verdict == .whole
                for (slot, frame) in log.frames(isWhole: isWhole).enumerated() {
                    #expect(!isWhole || !frame.isCommitted || frame.isWhole)
                    for cell in TableLeaf.cells(of: Array(log.page(slot))) {
                        _ = TableLeaf.values(of: Array(log.page(slot).dropFirst(cell.local.lowerBound)))
                    }
                }
            }
        }
        for _ in 0..<20 {
            var hit = log
            for _ in 0..<5 {
                hit[Int.random(in: hit.indices, using: &coins)] = UInt8.random(in: 0...255, using: &coins)
            }
            examine(hit)
        }
        for length in [0, 1, 31, 32, 33, 55, 56, 1079, 1080, 1081, 5000] {
            examine(Array(log.prefix(length)))
            var noise = (0..<length).map { _ in UInt8.random(in: 0...255, using: &coins) }
            examine(noise)
            noise.replaceSubrange(0..<min(32, length), with: log.prefix(min(32, length)))
            examine(noise)
        }
    }
}

extension KeychainEngine {
    /// Checkpoints the log without truncating it, so that the next change restarts it.
    fileprivate func beginLogAnew() async throws {
        try items.withState { try $0.store?.database.execute("PRAGMA wal_checkpoint") }
    }
}
