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
        var told = 0
        var coins = SplitMix64(seed: 8)
        let count = CaseSize.of(30, full: 2500)
        for round in 0..<count {
            try put(main, "items.sqlite")
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
                // The log's content can still be salvaged completely.
                #expect(ItemLog(flipped).salvaged()?.isExact == true, "bit \(bit)")
            }
            await engine.required.close()
        }
        #expect(told >= count / 4, "\(told)")
        #expect(keychain.audit.kinds.contains(.tamperDetected))
    }

    @Test("damage to the last change is detected, because a mark behind it records the flush")
    func lastChange() async throws {
        try await killed()
        var log = try keychain.octets("items.sqlite-wal")
        let end = try #require(Data(log).range(of: Data("TchSlog1".utf8), options: .backwards)).lowerBound
        #expect(ItemLog(log).verdict { _ in nil } == .whole)
        log[end - 1] ^= 1
        #expect(ItemLog(log).verdict { _ in nil } == .damaged)
        // Without the mark it is a change interrupted by a power loss.
        log.replaceSubrange(end..<(end + 32), with: [UInt8](repeating: 0, count: 32))
        #expect(ItemLog(log).verdict { _ in nil } == .whole)
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

    @Test("any bytes yield a verdict, and a salvaged log is read as whole")
    func anyOctets() async throws {
        try await killed()
        let log = try keychain.octets("items.sqlite-wal")
        var coins = SplitMix64(seed: 9)
        for _ in 0..<20 {
            var hit = log
            for _ in 0..<5 {
                hit[Int.random(in: hit.indices, using: &coins)] = UInt8.random(in: 0...255, using: &coins)
            }
            let salvaged = try #require(ItemLog(hit).salvaged())
            #expect(ItemLog(salvaged.octets).verdict { _ in nil } == .whole)
        }
        for length in [0, 1, 31, 32, 33, 55, 56, 1079, 1080, 1081, 5000] {
            _ = ItemLog(Array(log.prefix(length))).verdict { _ in nil }
            var noise = (0..<length).map { _ in UInt8.random(in: 0...255, using: &coins) }
            _ = ItemLog(noise).verdict { _ in nil }
            if let salvaged = ItemLog(noise).salvaged() {
                #expect(ItemLog(salvaged.octets).verdict { _ in nil } == .whole)
            }
            noise.replaceSubrange(0..<min(32, length), with: log.prefix(min(32, length)))
            _ = ItemLog(noise).verdict { _ in nil }
        }
    }
}

extension KeychainEngine {
    /// Checkpoints the log without truncating it, so that the next change restarts it.
    fileprivate func beginLogAnew() async throws {
        try items.withState { try $0.store?.database.execute("PRAGMA wal_checkpoint") }
    }
}
