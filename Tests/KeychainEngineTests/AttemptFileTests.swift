import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("Counted attempts are neither lost nor made up")
struct AttemptFileTests {
    let keychain = TestKeychain()

    private func record(_ count: Int) -> AttemptRecord {
        AttemptRecord(
            biometryFailures: count,
            passcodeFailures: 2 * count,
            lastPasscodeFailure: BootTime(bootID: "boot", nanoseconds: Int64(count)),
            lastPasscodeSuccess: nil,
            lastUse: BootTime(bootID: "boot", nanoseconds: -1)
        )
    }

    private func file() throws -> AttemptFile {
        AttemptFile(directory: try StoreDirectory(path: keychain.path))
    }

    @Test("what was saved last is loaded, also by the next run")
    func roundTrip() throws {
        var file: AttemptFile? = try file()
        #expect(try file?.load() == AttemptRecord())
        for count in 1...5 {
            try file?.save(record(count))
            #expect(try file?.load() == record(count))
        }
        file = nil
        #expect(try self.file().load() == record(5))
    }

    @Test("what is kept in memory is not believed once the file is another")
    func changedUnderneath() async throws {
        // One directory has one owner at a time.
        let directory = try StoreDirectory(path: keychain.path)
        let (file, other) = (AttemptFile(directory: directory), AttemptFile(directory: directory))
        try file.save(record(1))
        let older = try keychain.octets("attempts")
        try file.save(record(2))
        // Until the file system would give another time to the next write.
        try await Task.sleep(for: .milliseconds(100))
        for _ in 1...2 { #expect(try file.load() == record(2)) }
        try other.save(record(3))
        #expect(try file.load() == record(3))
        try await Task.sleep(for: .milliseconds(100))
        #expect(try file.load() == record(3))
        try keychain.write(older, to: "attempts")
        #expect(try file.load() == record(1))
        try FileManager.default.removeItem(atPath: keychain.file("attempts"))
        #expect(try file.load() == AttemptRecord())
    }

    @Test("a torn write leaves the count before it")
    func tornSlot() throws {
        let file = try file()
        for count in 1...4 { try file.save(record(count)) }
        let whole = try keychain.octets("attempts")
        for slot in 0...1 {
            var torn = whole
            for index in (slot * 4096 + 100)..<(slot * 4096 + 512) { torn[index] = 0 }
            try keychain.write(torn, to: "attempts")
            let loaded = try file.load()
            #expect([record(3), record(4)].contains(loaded))
            try file.save(record(9))
            #expect(try file.load() == record(9))
        }
    }

    @Test("any flipped bit of a slot costs that slot, and both damaged slots are damage")
    func damagedSlots() throws {
        let file = try file()
        for count in 1...2 { try file.save(record(count)) }
        let whole = try keychain.octets("attempts")
        for index in stride(from: 0, to: 512, by: 37) {
            var flipped = whole
            flipped[index] ^= 0x10
            flipped[4096 + index] ^= 0x10
            try keychain.write(flipped, to: "attempts")
            #expect(throws: KeychainError(.decode)) { try file.load() }
        }
    }

    @Test("slots in each other's place are damage: an old count cannot be put over a new one")
    func swappedSlots() throws {
        let file = try file()
        for count in 1...2 { try file.save(record(count)) }
        let whole = try keychain.octets("attempts")
        try keychain.write(Array(whole[4096...]) + Array(whole[..<4096]), to: "attempts")
        #expect(throws: KeychainError(.decode)) { try file.load() }
    }

    @Test("beside a keybag a missing file is damage, not zero")
    func missing() async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        await engine?.close()
        engine = nil
        #expect(try file().load() == AttemptRecord())
        try FileManager.default.removeItem(atPath: keychain.file("attempts"))
        #expect(throws: KeychainError(.decode)) { try file().load() }
    }

    @Test("a file of another keychain is damage")
    func foreign() async throws {
        let other = TestKeychain()
        try AttemptFile(directory: try StoreDirectory(path: other.path)).save(record(0))
        let file = try file()
        try file.save(record(5))
        try keychain.write(try other.octets("attempts"), to: "attempts")
        #expect(throws: KeychainError(.decode)) { try file.load() }
    }
}
