import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("A backup has the items as they are stored, and the recovery code opens it")
struct BackUpTests {
    @Test(
        "a locked keychain writes it without a key of an item, and every item arrives under its access control"
    )
    func roundTrip() async throws {
        let old = try await OldKeychain()
        let controls = try MovingTests.movable()
        for (name, control) in controls {
            try await old.engine.add(name, "secret of \(name)", control, attributes: [.label: .string("l")])
        }
        try await old.engine.add("without data", nil)
        try await old.engine.add("of others", "theirs", group: .theirs)
        try await old.engine.add("large", String(repeating: "x", count: 700_000))
        await old.engine.lock()
        let backup = try await old.engine.archive.backUp()
        #expect(backup.report == ExportReport(items: controls.count + 3))
        #expect(await old.engine.state() == .lockedAfterFirstUnlock)
        #expect(old.keychain.audit.kinds.contains(.keychainBackedUp))

        let there = TestKeychain()
        let engine = try there.start()
        #expect(try await engine.setUp(from: backup.octets(), code: old.code) == controls.count + 3)
        let key = try await engine.key(TestKeychain.newPasscode)
        for (name, control) in controls {
            let proofs = [Proofs.of(control, [.biometry, .passcode], key: key)]
            let found = try await engine.all([.account: .string(name)], proofs: proofs)
            #expect(found.map(\.text) == ["secret of \(name)"])
            #expect(found.first?.attributes?[.label] == .string("l"))
            guard !control.constraints.isEmpty else { continue }
            await #expect(throws: NeedsAuthentication.self, "\(name)") {
                try await engine.all([.account: .string(name)])
            }
        }
        #expect(try await engine.all([.account: .string("without data")]).map(\.data) == [nil])
        #expect(try await engine.all(groups: [.theirs]).map(\.text) == ["theirs"])
        #expect(try await engine.secret("large")?.count == 700_000)
        let report = await engine.check()
        #expect(report.isSetAuthentic && report.damaged == 0 && report.items == controls.count + 3)
    }

    @Test("before the first unlock, and without a keychain, none is written")
    func refusals() async throws {
        let old = try await OldKeychain()
        try await old.engine.add("one", "1")
        await old.engine.close()
        let copy = try old.keychain.copy()
        let next = try copy.start()
        let locked = await #expect(throws: KeychainError.self) { _ = try await next.archive.backUp() }
        #expect(locked?.cause == .locked)
        _ = try await next.key(TestKeychain.passcode)
        #expect(try await next.archive.backUp().report.items == 1)
        let empty = TestKeychain()
        let none = try empty.start()
        let missing = await #expect(throws: KeychainError.self) { _ = try await none.archive.backUp() }
        #expect(missing?.cause == .notSetUp)
    }

    @Test("what belongs to the device, its fingers or a password is left out, as in an export")
    func leftOut() async throws {
        let old = try await OldKeychain()
        _ = try await old.engine.observe(
            Enrolment(device: "sensor", fingers: ["left"], templateDigest: nil, completions: 0)
        )
        try await old.engine.add("stays", "x", AccessControl(accessibility: .whenUnlockedThisDeviceOnly))
        try await old.engine.add(
            "finger",
            "x",
            AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
        )
        try await old.engine.add("moves", "x")
        let (backup, export) = (try await old.engine.archive.backUp(), try await old.export())
        #expect(backup.report == export.report && backup.report.items == 1)
    }

    @Test("an item whose enrolled set was replaced is in it under its other constraint")
    func replacedSet() async throws {
        let old = try await OldKeychain()
        func fingers(_ names: String...) -> Enrolment {
            Enrolment(device: "sensor", fingers: names, templateDigest: nil, completions: 0)
        }
        _ = try await old.engine.observe(fingers("left"))
        let flags: AccessControlFlags = [.biometryCurrentSet, .or, .devicePasscode]
        let either = try AccessControl(accessibility: .whenUnlocked, flags: flags)
        try await old.engine.add("either", "still there", either)
        _ = try await old.engine.observe(fingers("left", "right"))
        let backup = try await old.engine.archive.backUp()
        #expect(backup.report.items == 1)
        let there = TestKeychain()
        let engine = try there.start()
        try await engine.setUp(from: backup.octets(), code: old.code)
        let passcode = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        let key = try await engine.key(TestKeychain.newPasscode)
        let proofs = [Proofs.of(passcode, [.passcode], key: key)]
        #expect(try await engine.secret("either", proofs: proofs) == "still there")
    }

    @Test("a renewed recovery code opens the later backups, the former one the earlier")
    func renewed() async throws {
        let old = try await OldKeychain()
        try await old.engine.add("one", "1")
        let earlier = try await old.engine.archive.backUp().octets()
        let code = try old.engine.makeRecoveryCode().reading()
        try await old.engine.changeRecoveryCode(to: .text(code), proof: old.engine.passcodeProof())
        let later = try await old.engine.archive.backUp().octets()
        let there = TestKeychain()
        let engine = try there.start()
        for (octets, right, wrong) in [(earlier, old.code, code), (later, code, old.code)] {
            let isRight = try await engine.accepts(recoveryCode: .text(right), of: MemoryExport(octets))
            let isWrong = try await engine.accepts(recoveryCode: .text(wrong), of: MemoryExport(octets))
            #expect(isRight && !isWrong)
        }
    }

    @Test("a flipped bit in any byte, a cut anywhere, or a part of another backup is refused")
    func damage() async throws {
        let old = try await OldKeychain()
        for index in 0..<2 { try await old.engine.add("account \(index)", "secret \(index)") }
        let whole = try await old.engine.archive.backUp().octets()
        let other = try await old.engine.archive.backUp().octets()
        let there = TestKeychain()
        let engine = try there.start()
        func isTaken(_ octets: [UInt8]) async throws -> Bool {
            do throws(KeychainError) {
                return try await engine.accepts(recoveryCode: .text(old.code), of: MemoryExport(octets))
            } catch {
                let causes: [DriverCause?] = [.exportDamaged, .notAnExport, .newerExport]
                #expect(causes.contains(error.cause), "\(error)")
                return false
            }
        }
        #expect(try await isTaken(whole))
        for place in whole.indices {
            var flipped = whole
            flipped[place] ^= 1 << UInt8(place % 8)
            #expect(try await !isTaken(flipped), "byte \(place)")
            #expect(try await !isTaken(Array(whole.prefix(place))), "\(place) bytes")
        }
        #expect(try await !isTaken(whole + [0]))
        let (parts, others) = (MemoryExport.parts(of: whole), MemoryExport.parts(of: other))
        #expect(parts.count == 6 && parts[1] == others[1], "head, keys, start, two items, end")
        for place in parts.indices where place != 1 {
            var mixed = parts
            mixed[place] = others[place]
            #expect(try await !isTaken(mixed.flatMap { $0 }), "part \(place)")
        }
        var swapped = parts
        swapped.swapAt(3, 4)
        #expect(try await !isTaken(swapped.flatMap { $0 }))
        swapped.remove(at: 3)
        #expect(try await !isTaken(swapped.flatMap { $0 }))
        // An item's record in the place of an export's that has items of the other kind.
        let export = MemoryExport.parts(of: try await old.export().octets())
        #expect(try await !isTaken((parts[0...2] + export[2...]).flatMap { $0 }))
    }

    @Test("a backup contains no name or secret in clear, and merges into its own keychain as the same")
    func residue() async throws {
        let old = try await OldKeychain()
        let (secret, account) = ("marker-of-a-secret-5b1e", "marker-of-an-account-c3d7")
        let passcode = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        try await old.engine.add(account, secret, passcode)
        let octets = try await old.engine.archive.backUp().octets()
        let text = String(decoding: octets, as: UTF8.self)
        for marker in [secret, account, "tests", AccessGroup.ours.name, old.code] {
            #expect(!text.contains(marker))
        }
        let work = try old.engine.archive.merge(
            MemoryExport(octets),
            recoveryCode: .text(old.code),
            proof: try await old.engine.passcodeProof(),
            ExportMerge()
        )
        #expect(try await work.next()?.map(\.outcome) == [.same])
        let left = try FileManager.default.contentsOfDirectory(atPath: old.keychain.path)
        #expect(!left.contains { $0.hasPrefix("export") }, "\(left)")
    }
}
