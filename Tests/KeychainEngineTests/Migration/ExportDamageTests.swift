import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("A damaged export creates no keychain")
struct ExportDamageTests {
    private let there = TestKeychain()

    /// Whether the new machine accepts these bytes with the code; asserts that a rejection has an expected
    /// cause.
    private func isTaken(_ octets: [UInt8], _ code: String, by engine: KeychainEngine) async throws -> Bool {
        do throws(KeychainError) {
            return try await engine.accepts(recoveryCode: .text(code), of: MemoryExport(octets))
        } catch {
            let causes: [DriverCause?] = [.exportDamaged, .notAnExport, .newerExport]
            #expect(causes.contains(error.cause), "\(error)")
            return false
        }
    }

    private func old(_ count: Int) async throws -> OldKeychain {
        let old = try await OldKeychain()
        for index in 0..<count { try await old.engine.add("account \(index)", "secret \(index)") }
        return old
    }

    @Test("a flipped bit in any byte is rejected")
    func flips() async throws {
        let old = try await old(2)
        let whole = try await old.export().octets()
        let engine = try there.start()
        let isWholeTaken = try await isTaken(whole, old.code, by: engine)
        #expect(isWholeTaken)
        for place in whole.indices {
            var flipped = whole
            flipped[place] ^= 1 << UInt8(place % 8)
            let isFlippedTaken = try await isTaken(flipped, old.code, by: engine)
            #expect(!isFlippedTaken, "byte \(place)")
            guard place % 61 == 0 else { continue }
            await #expect(throws: KeychainError.self, "byte \(place)") {
                try await engine.setUp(from: flipped, code: old.code)
            }
            #expect(await engine.state() == .notSetUp)
        }
    }

    @Test("an export truncated at any byte, or with trailing data, is rejected")
    func cuts() async throws {
        let old = try await old(2)
        let whole = try await old.export().octets()
        let engine = try there.start()
        for count in whole.indices {
            let isCutTaken = try await isTaken(Array(whole.prefix(count)), old.code, by: engine)
            #expect(!isCutTaken, "\(count) bytes")
        }
        let parts = MemoryExport.parts(of: whole)
        for more in [[0], [0, 0, 0, 0], parts[2], parts[4]] {
            let isMoreTaken = try await isTaken(whole + more, old.code, by: engine)
            #expect(!isMoreTaken)
        }
        // Truncated after each record, with the end record appended.
        for count in 1..<(parts.count - 1) {
            let ended = parts.prefix(count).flatMap { $0 } + parts[parts.count - 1]
            let isEndedTaken = try await isTaken(ended, old.code, by: engine)
            #expect(!isEndedTaken, "\(count) parts")
        }
    }

    @Test("reordered, omitted or duplicated records are rejected")
    func order() async throws {
        let old = try await old(4)
        let parts = MemoryExport.parts(of: try await old.export().octets())
        let engine = try there.start()
        #expect(parts.count == 7)
        for first in 1..<parts.count {
            for second in (first + 1)..<max(parts.count, first + 1) {
                var swapped = parts
                swapped.swapAt(first, second)
                let isTaken = try await isTaken(swapped.flatMap { $0 }, old.code, by: engine)
                #expect(!isTaken, "\(first) and \(second)")
            }
            var without = parts
            without.remove(at: first)
            var doubled = parts
            doubled.insert(parts[first], at: first)
            for changed in [without, doubled] {
                let isTaken = try await isTaken(changed.flatMap { $0 }, old.code, by: engine)
                #expect(!isTaken, "record \(first)")
            }
        }
    }

    @Test("records of two exports of the same keychain cannot be mixed")
    func mixed() async throws {
        let old = try await old(3)
        let first = MemoryExport.parts(of: try await old.export().octets())
        let second = MemoryExport.parts(of: try await old.export().octets())
        let engine = try there.start()
        for place in first.indices {
            var mixed = first
            mixed[place] = second[place]
            let isTaken = try await isTaken(mixed.flatMap { $0 }, old.code, by: engine)
            #expect(!isTaken, "part \(place)")
        }
    }

    @Test("another keychain's recovery code does not open an export")
    func wrongCode() async throws {
        let old = try await old(1)
        let octets = try await old.export().octets()
        let engine = try there.start()
        let other = try engine.makeRecoveryCode().reading()
        let isAccepted = try await engine.accepts(recoveryCode: .text(other), of: MemoryExport(octets))
        #expect(!isAccepted)
        await #expect(throws: KeychainError(.authFailed)) {
            try await engine.setUp(from: octets, code: other)
        }
        await #expect(throws: KeychainError(.param), "mistyped") {
            _ = try await engine.accepts(
                recoveryCode: .text(String(old.code.dropLast())),
                of: MemoryExport(octets)
            )
        }
        #expect(await engine.state() == .notSetUp)
        try await engine.setUp(from: octets, code: old.code)
        #expect(try await engine.secret("account 0") == "secret 0")
    }

    @Test("other files and newer exports are recognised before a recovery code is requested")
    func otherFiles() async throws {
        let engine = try there.start()
        for octets in [[], Array("SQLite format 3".utf8), [UInt8](repeating: 0, count: 4096)] {
            let error = await #expect(throws: KeychainError(.decode)) {
                try await engine.checkStart(of: MemoryExport(octets))
            }
            #expect(error?.cause == .notAnExport)
        }
        var newer = try await old(0).export().octets()
        newer[7] = 3
        let error = await #expect(throws: KeychainError(.notAvailable)) {
            try await engine.checkStart(of: MemoryExport(newer))
        }
        #expect(error?.cause == .newerExport)
    }
}
