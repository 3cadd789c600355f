import Foundation
import GRDB
import KeychainModel
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("A log that is not what was flushed is told, and never written over")
struct DamagedLogTests {
    let keychain = TestKeychain()
    private static let items = 12

    /// The files of a daemon that was killed: nothing of the log is in the file of items.
    ///
    /// With `again`, the log was
    /// written back and begun anew before.
    private func killed(again: Bool = false) async throws {
        let source = TestKeychain()
        let (engine, _) = try await source.setUp()
        if again {
            try await engine.add("former", String(repeating: "former ", count: 1000))
            try await engine.beginLogAnew()
        }
        for index in 0..<Self.items { try await engine.add("account \(index)", "secret \(index)") }
        try FileManager.default.copyItem(atPath: source.path, toPath: keychain.path)
        await engine.close()
    }

    private func put(_ octets: [UInt8], _ name: String) throws {
        try Data(octets).write(to: URL(fileURLWithPath: keychain.file(name)))
        unsafe chmod(keychain.file(name), 0o600)
    }

    @Test("every flipped bit: all items are there, or the keychain is damaged", arguments: [false, true])
    func flips(again: Bool) async throws {
        try await killed(again: again)
        let log = try keychain.octets("items.sqlite-wal")
        let main = try keychain.octets("items.sqlite")
        var told = 0
        var coins = SplitMix64(seed: 8)
        let count = CaseSize.of(48, full: 5000)
        for round in 0..<count {
            try put(main, "items.sqlite")
            var flipped = log
            // The header, whose damage hides all, and the whole file.
            let bit = Int.random(in: 0..<(8 * (round % 4 == 0 ? 32 : log.count)), using: &coins)
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            try put(flipped, "items.sqlite-wal")
            var engine: KeychainEngine? = try await keychain.restart()
            defer { engine = nil }
            do {
                let found = try await engine.required.all([.service: .string("tests")]).compactMap(\.text)
                #expect(found.count == Self.items + (again ? 1 : 0), "bit \(bit)")
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
                // What it holds can be had whole.
                #expect(ItemLog(flipped).salvaged()?.isExact == true, "bit \(bit)")
            }
            await engine.required.close()
        }
        #expect(told >= count / 4, "\(told)")
        #expect(keychain.audit.kinds.contains(.tamperDetected))
    }

    @Test("the last change too: a mark behind it says that it was flushed")
    func lastChange() async throws {
        try await killed()
        var log = try keychain.octets("items.sqlite-wal")
        let end = try #require(Data(log).range(of: Data("TchSlog1".utf8), options: .backwards)).lowerBound
        #expect(ItemLog(log).verdict { _ in nil } == .whole)
        log[end - 1] ^= 1
        #expect(ItemLog(log).verdict { _ in nil } == .damaged)
        // Without the mark, it is a change that the power cut short.
        log.replaceSubrange(end..<(end + 32), with: [UInt8](repeating: 0, count: 32))
        #expect(ItemLog(log).verdict { _ in nil } == .whole)
    }

    @Test("an orderly end leaves nothing in the log")
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

    @Test("after a while without changes nothing is in the log")
    func idle() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("account", "secret")
        let isEmpty = try? await Deadline.wait(for: "an empty log") {
            try keychain.octets("items.sqlite-wal").isEmpty ? true : nil
        }
        #expect(isEmpty == true)
        #expect(try await engine.secret("account") == "secret")
        await engine.close()
    }

    @Test("any octets are read to a verdict, and what is made of them can be read by the same reader")
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
    /// Brings the log into the file and leaves it as long as it is: the next change begins it anew.
    fileprivate func beginLogAnew() throws {
        try store?.database.perform { try $0.execute(sql: "PRAGMA wal_checkpoint") }
    }
}
