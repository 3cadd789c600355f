import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("Attempt counters are neither lost nor invented")
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

    /// The file as a new process opens it, with no memory of earlier writes.
    private func next(_ directory: StoreDirectory) -> AttemptFile { AttemptFile(directory: directory) }

    private func file() throws -> AttemptFile {
        AttemptFile(directory: try StoreDirectory(path: keychain.path))
    }

    @Test("the last saved record is loaded, also by the next process")
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

    /// How the file is changed behind the back of the process that wrote it.
    enum Exchange: CaseIterable {
        case older
        case olderInPlace
        case gone
        case zeros
        case ofAnotherRun
    }

    @Test(
        "an older, foreign or missing file does not replace this process's record, and is reported",
        arguments: Exchange.allCases
    )
    func putBack(_ exchange: Exchange) async throws {
        let directory = try StoreDirectory(path: keychain.path)
        let log = RecordedAudit()
        let file = AttemptFile(directory: directory, audit: log)
        try file.save(record(1))
        let older = try keychain.octets("attempts")
        try file.save(record(2))
        // Wait until the file system's timestamp granularity gives the next write a different time.
        try await Task.sleep(for: .milliseconds(100))
        for _ in 1...2 { #expect(try file.load() == record(2)) }
        #expect(!file.isTamperedWith())
        for round in 2...6 {
            switch exchange {
            case .older:
                try FileManager.default.removeItem(atPath: keychain.file("attempts"))
                let made = FileManager.default.createFile(
                    atPath: keychain.file("attempts"),
                    contents: Data(older),
                    attributes: [.posixPermissions: 0o600]
                )
                #expect(made)
            case .olderInPlace: try keychain.write(older, to: "attempts")
            case .gone: try FileManager.default.removeItem(atPath: keychain.file("attempts"))
            case .zeros: try keychain.write([UInt8](repeating: 0, count: 8192), to: "attempts")
            case .ofAnotherRun:
                // A higher sequence number, and the same key: a copy from before a recovery.
                let other = AttemptFile(directory: directory)
                for _ in 0..<20 { try other.save(AttemptRecord()) }
            }
            // Alternate between reading first and writing first.
            if round.isMultiple(of: 2) { #expect(try file.load() == record(round)) }
            try file.save(record(round + 1))
            #expect(try file.load() == record(round + 1))
            #expect(try AttemptFile(directory: directory).load() == record(round + 1), "the next run")
        }
        #expect(file.isTamperedWith())
        #expect(log.kinds == Array(repeating: .tamperDetected, count: 5))
    }

    @Test("successful saves are not reported as tampering")
    func unsure() throws {
        let log = RecordedAudit()
        let directory = try StoreDirectory(path: keychain.path)
        let file = AttemptFile(directory: directory, audit: log)
        for count in 1...50 {
            try file.save(record(count))
            #expect(try file.load() == record(count))
        }
        try file.save(AttemptRecord())
        #expect(try file.load() == AttemptRecord())
        #expect(log.kinds.isEmpty && !file.isTamperedWith())
    }

    @Test("a torn write leaves the count before it")
    func tornSlot() throws {
        let directory = try StoreDirectory(path: keychain.path)
        let file = next(directory)
        for count in 1...4 { try file.save(record(count)) }
        let whole = try keychain.octets("attempts")
        for slot in 0...1 {
            var torn = whole
            for index in (slot * 4096 + 100)..<(slot * 4096 + 512) { torn[index] = 0 }
            try keychain.write(torn, to: "attempts")
            let file = next(directory)
            let loaded = try file.load()
            #expect([record(3), record(4)].contains(loaded))
            try file.save(record(9))
            #expect(try file.load() == record(9))
            #expect(try next(directory).load() == record(9))
        }
    }

    @Test("a flipped bit invalidates its slot, and two invalid slots make the file damaged")
    func damagedSlots() throws {
        let directory = try StoreDirectory(path: keychain.path)
        for count in 1...2 { try next(directory).save(record(count)) }
        let whole = try keychain.octets("attempts")
        for index in stride(from: 0, to: 512, by: 37) {
            var flipped = whole
            flipped[index] ^= 0x10
            flipped[4096 + index] ^= 0x10
            try keychain.write(flipped, to: "attempts")
            #expect(throws: KeychainError(.decode)) { try next(directory).load() }
        }
    }

    @Test("swapped slots are damage, so an old count cannot replace a new one")
    func swappedSlots() throws {
        let directory = try StoreDirectory(path: keychain.path)
        for count in 1...2 { try next(directory).save(record(count)) }
        let whole = try keychain.octets("attempts")
        try keychain.write(Array(whole[4096...]) + Array(whole[..<4096]), to: "attempts")
        #expect(throws: KeychainError(.decode)) { try next(directory).load() }
    }

    @Test("a missing file beside a keybag is damage, not a zero count")
    func missing() async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        await engine?.close()
        engine = nil
        #expect(try file().load() == AttemptRecord())
        try FileManager.default.removeItem(atPath: keychain.file("attempts"))
        #expect(throws: KeychainError(.decode)) { try file().load() }
    }

    @Test("another keychain's attempt file is damage")
    func foreign() async throws {
        let other = TestKeychain()
        try AttemptFile(directory: try StoreDirectory(path: other.path)).save(record(0))
        let directory = try StoreDirectory(path: keychain.path)
        try next(directory).save(record(5))
        try keychain.write(try other.octets("attempts"), to: "attempts")
        #expect(throws: KeychainError(.decode)) { try next(directory).load() }
    }

    /// What becomes of the file or its directory between two wrong passcodes.
    enum Replacement: CaseIterable {
        case copied, gone, emptied, directoryGone, directoryCopied, directoryEmpty
    }

    @Test(
        "a count is in the file that the name leads to, or refused",
        arguments: Replacement.allCases
    )
    func place(_ replacement: Replacement) throws {
        let files = FileManager.default
        let aside = keychain.path + "-aside"
        defer { try? files.removeItem(atPath: aside) }
        var directory: StoreDirectory? = try StoreDirectory(path: keychain.path)
        var file: AttemptFile? = AttemptFile(directory: try #require(directory))
        for count in 1...3 { try file?.save(record(count)) }
        switch replacement {
        case .copied:
            try files.copyItem(atPath: keychain.file("attempts"), toPath: keychain.file("copy"))
            unsafe rename(keychain.file("copy"), keychain.file("attempts"))
        case .gone: try files.removeItem(atPath: keychain.file("attempts"))
        case .emptied: try keychain.write([], to: "attempts")
        case .directoryGone: try files.moveItem(atPath: keychain.path, toPath: aside)
        case .directoryCopied:
            try files.moveItem(atPath: keychain.path, toPath: aside)
            try files.copyItem(atPath: aside, toPath: keychain.path)
        case .directoryEmpty:
            try files.moveItem(atPath: keychain.path, toPath: aside)
            unsafe mkdir(keychain.path, 0o700)
        }
        var counted = 3
        for count in 4...6 {
            do {
                try file?.save(record(count))
                counted = count
            } catch {
                #expect(error.cause?.known == .filesReplaced)
            }
        }
        let isRefused = [.directoryGone, .directoryCopied, .directoryEmpty].contains(replacement)
        #expect(counted == (isRefused ? 3 : 6))
        (file, directory) = (nil, nil)
        if replacement == .directoryGone { try files.moveItem(atPath: aside, toPath: keychain.path) }
        guard replacement != .directoryEmpty else { return }
        #expect(try self.file().load() == record(counted))
    }
}
