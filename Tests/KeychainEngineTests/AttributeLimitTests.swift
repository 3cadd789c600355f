import Foundation
import GRDB
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("Whatever is stored can be read, changed, backed up, restored and repaired")
struct AttributeLimitTests {
    /// A random item within the limits, with as many attributes as asked for.
    private struct Sample {
        var attributes: ItemAttributes
        var data: String?
        var control: AccessControl

        init(_ number: Int, attributes count: Int, _ random: inout SplitMix64) throws {
            attributes = [.account: .string("account \(number)"), .service: .string("tests")]
            while attributes.count < count {
                let length = Int.random(in: 1...32, using: &random)
                let key = String(
                    (0..<length).map { _ in
                        Character(Unicode.Scalar(UInt8.random(in: 33...126, using: &random)))
                    }
                )
                // A name that the store or a search gives a meaning has its own rules.
                guard !ItemContent.ownKeys.contains(AttributeKey(rawValue: key)),
                    length > 4 || key.hasPrefix("~")
                else { continue }
                attributes[AttributeKey(rawValue: key)] = Self.value(&random)
            }
            if Bool.random(using: &random) {
                attributes[.label] = .string("label \(number)")
                while attributes.count > max(count, 2) {
                    let extra = attributes.first { ![.account, .service].contains($0.key) }?.key
                    if let extra { attributes[extra] = nil }
                }
            }
            let size = [nil, 0, 1, 40, 2048, 2049, 5000].randomElement(using: &random) ?? nil
            data = size.map { String(repeating: "d", count: $0) }
            let flags: [AccessControlFlags] = [[], .userPresence, .devicePasscode, .biometryAny]
            control = try AccessControl(
                accessibility: .whenUnlocked,
                flags: flags.randomElement(using: &random) ?? []
            )
        }

        static func value(_ random: inout SplitMix64) -> AttributeValue {
            let length = [0, 1, 23, 24, 255, 256, 3000].randomElement(using: &random) ?? 0
            return switch Int.random(in: 0..<5, using: &random) {
            case 0: .string(String(repeating: "ä", count: length / 2))
            case 1: .data([UInt8](repeating: UInt8(length & 0xFF), count: length))
            case 2: .integer(Int64.random(in: .min ... .max, using: &random))
            case 3: .boolean(Bool.random(using: &random))
            default: .date(Int64.random(in: 0...1 << 52, using: &random))
            }
        }
    }

    private func expect(
        _ engine: KeychainEngine,
        _ sample: Sample,
        _ number: Int,
        key: PasscodeKey,
        _ what: String
    ) async throws {
        let proofs = [Proofs.of(sample.control, [.biometry, .passcode], key: key)]
        let found = try await engine.all([.account: .string("account \(number)")], proofs: proofs)
        #expect(found.count == 1, "\(what) \(number)")
        guard let item = found.first, var attributes = item.attributes else { return }
        for key in ItemContent.ownKeys { attributes[key] = nil }
        if sample.attributes[.synchronizable] == nil { attributes[.synchronizable] = nil }
        #expect(attributes == sample.attributes, "\(what) \(number)")
        #expect(item.text == sample.data, "\(what) \(number)")
    }

    @Test("random items with 2 to 64 attributes", .timeLimit(.minutes(CaseSize.of(20, full: 90))))
    func randomItems() async throws {
        var random = SplitMix64(seed: 29)
        let rounds = CaseSize.of(1, full: 20)
        for round in 0..<rounds {
            let old = try await OldKeychain()
            let key = try await old.engine.key(TestKeychain.passcode)
            var samples: [Sample] = []
            for number in 0..<63 {
                let sample = try Sample(number, attributes: number + 2, &random)
                try await old.engine.add(
                    "account \(number)",
                    sample.data,
                    sample.control,
                    attributes: sample.attributes
                )
                samples.append(sample)
            }
            for (number, sample) in samples.enumerated() {
                try await expect(old.engine, sample, number, key: key, "stored")
                // Another value, another secret, and a new attribute where there is room.
                samples[number].data = "changed \(round)"
                var changes: ItemAttributes = [.service: .string("changed")]
                if sample.attributes.count < ItemLimits.mostAttributes {
                    changes[AttributeKey(rawValue: "~new")] = .integer(Int64(number))
                }
                samples[number].attributes.merge(changes) { $1 }
                let proofs = [Proofs.of(sample.control, [.biometry, .passcode], key: key)]
                let outcome = try await old.engine.update(
                    "account \(number)",
                    attributes: changes,
                    secret: samples[number].data,
                    proofs: proofs
                )
                #expect(outcome == .updated(1))
                try await expect(old.engine, samples[number], number, key: key, "changed")
            }
            let export = try await old.export()
            #expect(export.report == ExportReport(items: samples.count))

            let restored = TestKeychain()
            let next = try restored.start()
            #expect(try await next.setUp(from: export.octets(), code: old.code) == samples.count)
            let nextKey = try await next.key(TestKeychain.newPasscode)
            for (number, sample) in samples.enumerated() {
                try await expect(next, sample, number, key: nextKey, "restored")
            }
            await next.close()

            try await repaired(restored, samples)
        }
    }

    /// A repair after damage elsewhere keeps all items.
    private func repaired(_ keychain: TestKeychain, _ samples: [Sample]) async throws {
        let queue = try DatabaseQueue(path: keychain.file("items.sqlite"))
        try await queue.writeWithoutTransaction { database in
            try database.execute(
                sql: "UPDATE item_set SET sealed = zeroblob(76) WHERE id = ?",
                arguments: [Int64.max]
            )
            try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try queue.close()
        unsafe chmod(keychain.file("items.sqlite"), 0o600)
        let copy = try keychain.copy()
        let engine = try copy.start()
        let key = try await engine.key(TestKeychain.newPasscode)
        let proof = Proofs.of(AccessControl(accessibility: .whenUnlocked), [.passcode], key: key)
        let repair = try await engine.repair(proof: proof, accepting: true)
        #expect(repair.kept == samples.count)
        for (number, sample) in samples.enumerated() {
            try await expect(engine, sample, number, key: key, "repaired")
        }
        #expect(await engine.check().isWell)
    }

    @Test("one attribute too many is refused by an addition and by a change, and the item stays as it was")
    func tooMany() async throws {
        let keychain = TestKeychain()
        let (engine, _) = try await keychain.setUp()
        func extra(_ count: Int) -> ItemAttributes {
            var attributes: ItemAttributes = [:]
            for number in 0..<count {
                attributes[AttributeKey(rawValue: "~\(number)")] = .integer(Int64(number))
            }
            return attributes
        }
        for count in 55...62 { try await engine.add("with \(count)", "x", attributes: extra(count)) }
        await #expect(throws: KeychainError(.param)) {
            try await engine.add("more", "x", attributes: extra(63))
        }
        await #expect(throws: KeychainError(.param)) {
            try await engine.update("with 60", attributes: extra(64))
        }
        _ = try await engine.update("with 60", attributes: extra(62))
        await #expect(throws: KeychainError(.noSuchAttr)) {
            try await engine.add(
                "name",
                attributes: [AttributeKey(rawValue: String(repeating: "n", count: 33)): .integer(1)]
            )
        }
        await #expect(throws: KeychainError(.dataTooLarge)) {
            try await engine.add(
                "long",
                attributes: [.comment: .string(String(repeating: "c", count: 16_385))]
            )
        }
        #expect(await engine.check().isWell)
        #expect(try await engine.all().count == 8)
    }

    @Test("attributes and data together fit a frame: one byte more is refused")
    func tooLong() async throws {
        let keychain = TestKeychain()
        let (engine, _) = try await keychain.setUp()
        var attributes: ItemAttributes = [:]
        for index in 0..<14 {
            attributes[AttributeKey(rawValue: "~\(index)")] = .data([UInt8](repeating: 1, count: 1 << 14))
        }
        let fixed = String(repeating: "x", count: ItemLimits.longestData)
        await #expect(throws: KeychainError(.dataTooLarge)) {
            try await engine.add("ann", fixed, attributes: attributes)
        }
        let fits = String(repeating: "x", count: ItemLimits.longestItem - 14 * (1 << 14) - 2048)
        try await engine.add("ann", fits, attributes: attributes)
        await #expect(throws: KeychainError(.dataTooLarge)) {
            try await engine.update(
                "ann",
                attributes: [.comment: .string(String(repeating: "c", count: 8000))]
            )
        }
        let page = try await engine.all([.account: .string("ann")])
        #expect(page.first?.text == fits)
    }
}
