import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite("Merging an export into a keychain that is there")
struct MergeTests {
    /// A keychain with a passcode and a code of its own.
    private static func keychain(_ keychain: TestKeychain) async throws -> KeychainEngine {
        try await keychain.setUp().0
    }

    private static func passcode() throws -> AccessControl {
        try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
    }

    @Test("what is missing is added as it was, what is equal stays, and what differs is told and kept")
    func merges() async throws {
        let old = try await OldKeychain()
        let controls = try MovingTests.movable()
        for (name, control) in controls { try await old.engine.add(name, "secret of \(name)", control) }
        for name in ["equal", "other secret", "other rule", "other label"] {
            try await old.engine.add(name, "mine", attributes: [.label: .string("one")])
        }
        try await old.engine.add("guarded", "same", Self.passcode())
        try await old.engine.add("guarded differs", "old", Self.passcode())
        try await old.engine.add("equal", "of theirs", group: .theirs)
        let octets = try await old.export().octets()

        let there = TestKeychain()
        let engine = try await Self.keychain(there)
        for (name, label) in [("equal", "one"), ("other secret", "one"), ("other label", "two")] {
            let secret = name == "other secret" ? "yours" : "mine"
            try await engine.add(name, secret, attributes: [.label: .string(label)])
        }
        try await engine.add("other rule", "mine", Self.passcode(), attributes: [.label: .string("one")])
        try await engine.add("guarded", "same", Self.passcode())
        try await engine.add("guarded differs", "new", Self.passcode())
        try await engine.add("only here", "stays")

        let told = try await engine.merge(octets, code: old.code)
        let different = ["guarded differs", "other label", "other rule", "other secret"]
        #expect(told.filter { $0.outcome == .kept }.map(\.name).sorted() == different)
        #expect(told.filter { $0.outcome == .same }.map(\.name).sorted() == ["equal", "guarded"])
        #expect(told.count { $0.outcome == .added } == controls.count + 1)
        #expect(told.contains { $0.outcome == .added && $0.group == AccessGroup.theirs.name })
        // As if it were the first time: nothing more is added.
        let again = try await engine.merge(octets, code: old.code)
        #expect(again.allSatisfy { [.kept, .same].contains($0.outcome) } && again.count == told.count)
        await engine.close()

        let copy = try there.copy()
        let next = try copy.start()
        let key = try await next.key(TestKeychain.passcode)
        for (name, control) in controls {
            let proofs = [Proofs.of(control, [.biometry, .passcode], key: key)]
            let found = try await next.all([.account: .string(name)], proofs: proofs)
            #expect(found.map(\.text) == ["secret of \(name)"])
            #expect(found.first?.attributes?[.creationDate] == .date(1_700_000_000_000_000))
            guard !control.constraints.isEmpty else { continue }
            await #expect(throws: NeedsAuthentication.self, "\(name)") {
                try await next.all([.account: .string(name)])
            }
        }
        let proofs = [Proofs.of(try Self.passcode(), [.passcode], key: key)]
        #expect(try await next.secret("other secret") == "yours")
        #expect(try await next.secret("guarded differs", proofs: proofs) == "new")
        #expect(try await next.secret("only here") == "stays")
        #expect(try await next.all(groups: [.theirs]).map(\.text) == ["of theirs"])
        let report = await next.check()
        #expect(report.isSetAuthentic && report.damaged == 0)
        #expect(report.items == controls.count + 8)
    }

    @Test("a conflict can replace the keychain's item, or add the export's under another name")
    func conflicts() async throws {
        let old = try await OldKeychain()
        try await old.engine.add("mail", "old")
        try await old.engine.add("", "nameless", attributes: [.account: .string("")])
        let octets = try await old.export().octets()
        let there = TestKeychain()
        let engine = try await Self.keychain(there)
        try await engine.add("mail", "new", Self.passcode())
        try await engine.add("mail (backup)", "taken")
        try await engine.add("", "other", attributes: [.account: .string("")])

        let both = try await engine.merge(octets, code: old.code, ExportMerge(conflicts: .both))
        #expect(both.first { $0.name == "mail" }?.outcome == .besides)
        #expect(both.first { $0.name == "mail" }?.newName == "mail (backup 2)")
        #expect(try await engine.secret("mail (backup)") == "taken")
        #expect(try await engine.secret("mail (backup 2)") == "old")
        let again = try await engine.merge(octets, code: old.code, ExportMerge(conflicts: .both))
        #expect(again.allSatisfy { $0.outcome == .same }, "\(again)")

        let replaced = try await engine.merge(octets, code: old.code, ExportMerge(conflicts: .replace))
        #expect(replaced.allSatisfy { $0.outcome == .replaced }, "\(replaced)")
        #expect(try await engine.secret("mail") == "old", "and it needs no passcode, as in the export")
        let report = await engine.check()
        #expect(report.isSetAuthentic && report.damaged == 0 && report.items == 5)
        await engine.close()
        let copy = try there.copy()
        let next = try copy.start()
        _ = try await next.key(TestKeychain.passcode)
        #expect(try await next.secret("mail") == "old")
    }

    @Test("a name too long to be changed is kept, whatever was chosen")
    func longNames() async throws {
        let old = try await OldKeychain()
        let name = String(repeating: "x", count: 250)
        try await old.engine.add(name, "old")
        let there = TestKeychain()
        let engine = try await Self.keychain(there)
        try await engine.add(name, "new")
        let octets = try await old.export().octets()
        let told = try await engine.merge(octets, code: old.code, ExportMerge(conflicts: .both))
        #expect(told.map(\.outcome) == [.kept])
        #expect(try await engine.secret(name) == "new")
    }

    @Test("an item that was lost with the enrolled fingers, or is damaged, gives its place up only as told")
    func lostItems() async throws {
        let old = try await OldKeychain()
        try await old.engine.add("lost", "from the backup")
        let there = TestKeychain()
        let engine = try await Self.keychain(there)
        let current = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
        try await engine.add("lost", "bound", current)
        let octets = try await old.export().octets()
        #expect(try await engine.merge(octets, code: old.code).map(\.outcome) == [.kept])
        _ = try await engine.observe(
            Enrolment(device: "sensor", fingers: ["right"], templateDigest: nil, completions: 0)
        )
        #expect(try await engine.merge(octets, code: old.code).map(\.outcome) == [.added])
        #expect(try await engine.secret("lost") == "from the backup")
    }

    @Test("only the named items are merged; a name without an item merges nothing")
    func names() async throws {
        let old = try await OldKeychain()
        for name in ["one", "two", "three"] { try await old.engine.add(name, name) }
        try await old.engine.add("one", "theirs", group: .theirs)
        let octets = try await old.export().octets()
        let there = TestKeychain()
        let engine = try await Self.keychain(there)
        let error = await #expect(throws: KeychainError.self) {
            try await engine.merge(octets, code: old.code, ExportMerge(names: ["one", "no\u{1B}ne"]))
        }
        #expect(error?.status == .itemNotFound && error?.cause?.known == .notInExport)
        #expect(error?.cause?.detail == "no\u{1B}ne")
        #expect(await engine.check().items == 0)
        let told = try await engine.merge(octets, code: old.code, ExportMerge(names: ["one"]))
        #expect(Set(told.map(\.group)) == [AccessGroup.ours.name, AccessGroup.theirs.name])
        #expect(await engine.check().items == 2)
    }

    @Test("another code, a proof without the passcode, or a locked keychain merges nothing")
    func refusals() async throws {
        let old = try await OldKeychain()
        try await old.engine.add("one", "1")
        let octets = try await old.export().octets()
        let there = TestKeychain()
        let engine = try await Self.keychain(there)
        let proof = try await engine.passcodeProof()
        let other = try engine.makeRecoveryCode().reading()
        #expect(throws: KeychainError(.authFailed)) {
            try engine.archive.merge(
                MemoryExport(octets),
                recoveryCode: .text(other),
                proof: proof,
                ExportMerge()
            )
        }
        let finger = Proofs.of(try Self.passcode(), [.biometry])
        for weak in [Proofs.forged, finger, try await old.engine.passcodeProof()] {
            #expect(throws: KeychainError(.authFailed)) {
                try engine.archive.merge(
                    MemoryExport(octets),
                    recoveryCode: .text(old.code),
                    proof: weak,
                    ExportMerge()
                )
            }
        }
        await engine.lock()
        let locked = await #expect(throws: KeychainError.self) {
            try await engine.merge(octets, code: old.code, proof: proof)
        }
        #expect(locked?.cause == .locked)
        _ = try await engine.key(TestKeychain.passcode)
        #expect(await engine.check().items == 0)
    }

    @Test("a keychain that gets full says so, and keeps what it has")
    func full() async throws {
        let old = try await OldKeychain()
        for index in 0..<6 { try await old.engine.add("\(index)", "secret") }
        let octets = try await old.export().octets()
        let there = TestKeychain(mostItems: 4)
        let engine = try await Self.keychain(there)
        try await engine.add("mine", "kept")
        let error = await #expect(throws: KeychainError.self) {
            try await engine.merge(octets, code: old.code)
        }
        #expect(error?.cause?.known == .storeFull)
        #expect(try await engine.secret("mine") == "kept")
        let report = await engine.check()
        #expect(report.isSetAuthentic && report.damaged == 0)
    }

    @Test(
        "a crash at any moment leaves the former items and whole new ones, and the merge can be repeated",
        .timeLimit(.minutes(CaseSize.of(20, full: 90)))
    )
    func crashes() async throws {
        let old = try await OldKeychain()
        for index in 0..<900 { try await old.engine.add("account \(index)", "secret \(index)") }
        let octets = try await old.export().octets()
        let there = TestKeychain()
        let engine = try await Self.keychain(there)
        try await engine.add("former", "stays")
        try await engine.add("account 7", "mine")
        var images: [TestKeychain] = []
        let work = try engine.archive.merge(
            MemoryExport(octets),
            recoveryCode: .text(old.code),
            proof: try await engine.passcodeProof(),
            ExportMerge()
        )
        var told: [[ExportedItem]] = []
        while let items = try await work.next() {
            images.append(try there.copy())
            told.append(items)
        }
        #expect(told.joined().count == 900 && images.count > 3)
        for (place, image) in images.enumerated() {
            let engine = try image.start()
            _ = try await engine.key(TestKeychain.passcode)
            let done = told.prefix(place + 1).joined().count { $0.outcome == .added }
            let report = await engine.check()
            #expect(report.isSetAuthentic && report.damaged == 0 && report.items == done + 2)
            #expect(try await engine.secret("former") == "stays")
            #expect(try await engine.secret("account 7") == "mine")
        }
        let again = try images[1].start()
        _ = try await again.key(TestKeychain.passcode)
        let second = try await again.merge(octets, code: old.code)
        #expect(second.count { $0.outcome == .kept } == 1)
        #expect(await again.check().items == 901)
    }

    @Test("an export is read without a keychain, from first to last item, and nothing in the list is secret")
    func reads() async throws {
        let old = try await OldKeychain()
        let names = (0..<600).map { "account \($0)" } + ["esc\u{1B}[31m\nname"]
        for name in names { try await old.engine.add(name, "marker-of-a-secret") }
        let octets = try await old.export().octets()
        let there = TestKeychain()
        let engine = try there.start()
        let told = try await engine.list(octets, code: old.code)
        #expect(told.map(\.name) == names && told.allSatisfy { $0.outcome == .read })
        #expect(!told.contains { "\($0)".contains("marker-of-a-secret") })
        #expect(await engine.state() == .notSetUp)
        let other = try engine.makeRecoveryCode().reading()
        await #expect(throws: KeychainError(.authFailed)) { try await engine.list(octets, code: other) }
    }
}

extension KeychainEngine {
    /// Merges to the end, as the desk does.
    fileprivate func merge(
        _ octets: [UInt8],
        code: String,
        _ merge: ExportMerge = ExportMerge(),
        proof: AuthenticationProof? = nil
    ) async throws -> [ExportedItem] {
        var given = proof
        if given == nil { given = try await passcodeProof() }
        let work = try archive.merge(
            MemoryExport(octets),
            recoveryCode: .text(code),
            proof: given.required,
            merge
        )
        return try await Self.all(of: work)
    }

    fileprivate func list(_ octets: [UInt8], code: String) async throws -> [ExportedItem] {
        try await Self.all(of: archive.read(MemoryExport(octets), recoveryCode: .text(code)))
    }

    private static func all(of work: any ExportWork) async throws -> [ExportedItem] {
        var all: [ExportedItem] = []
        while let items = try await work.next() { all += items }
        return all
    }
}
