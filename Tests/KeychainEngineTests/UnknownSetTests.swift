import KeychainModel
import SecretMemory
import Testing

@testable import KeychainEngine

@Suite("An unknown enrolled set is never taken for the observed one")
struct UnknownSetTests {
    private let keychain = TestKeychain()
    private static let left = TestKeychain.enrolled
    private static let both = Enrolment(
        device: "sensor",
        fingers: ["left-index", "right-index"],
        templateDigest: nil,
        completions: 0
    )
    private static let none = Enrolment(device: "sensor", fingers: [], templateDigest: nil, completions: 0)
    private let control: AccessControl

    init() throws {
        control = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
    }

    private func refusal(_ body: () async throws -> Void) async -> KeychainError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? KeychainError
        }
    }

    @Test("without an observed finger there is no key to bind an item or a key to", arguments: [nil, none])
    func noKey(enrolled: Enrolment?) async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp(enrolled: enrolled)
        let keyRule = try AccessControl(
            accessibility: .whenUnlocked,
            flags: [.biometryCurrentSet, .privateKeyUsage]
        )
        for round in 1...2 {
            let item = await refusal { try await engine?.add("set", "secret", control) }
            let key = await refusal {
                _ = try await engine?.makeKey(keyRule, group: .ours, applicationPassword: nil)
            }
            for refusal in [item, key] {
                #expect(refusal?.status == .authFailed)
                #expect(refusal?.authentication?.code == .biometryNotEnrolled, "round \(round)")
            }
            try await engine?.add("plain \(round)")
            try await keychain.restart(&engine)
        }
        // A locked keybag is reported first.
        await engine?.lock()
        #expect(await refusal { try await engine?.add("set", "secret", control) }?.cause == .locked)
        _ = try await engine?.key(TestKeychain.passcode)
        #expect(try await engine?.observe(Self.left).changed == true)
        try await engine?.add("set", "secret", control)
        #expect(try await engine?.secret("set", proofs: [Proofs.of(control, [.biometry])]) == "secret")
        // The last finger is removed, so there is no key again.
        #expect(try await engine?.observe(Self.none).changed == true)
        #expect(await refusal { try await engine?.add("set", "secret", control) }?.status == .authFailed)
        await engine?.close()
    }

    @Test("a version 1 keychain whose set was never observed loses the bound items and audits it")
    func formerVersion() async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        try await engine?.add("set", "secret", control)
        try await engine?.add("plain", "kept")
        let record = try #require(await engine?.keybag.record)
        try engine?.forgetKeybag()
        await engine?.close()
        engine = nil
        try rewrite(record, enrolment: nil)
        let next = try await keychain.restart()
        // Still readable: no enrolment was observed yet.
        #expect(try await next.secret("set", proofs: [Proofs.of(control, [.biometry])]) == "secret")
        #expect(!keychain.audit.kinds.contains(.enrolmentChanged))
        #expect(try await next.observe(Self.left).changed)
        let gone = await refusal {
            _ = try await next.secret("set", proofs: [Proofs.of(control, [.biometry])])
        }
        #expect(gone?.cause == .invalidated)
        #expect(keychain.audit.kinds.contains(.enrolmentChanged))
        #expect(keychain.audit.kinds.contains(.itemsInvalidated))
        #expect(try await next.secret("plain") == "kept")
        await next.close()
    }

    @Test("a keychain of an earlier version whose set was observed keeps the bound items", arguments: [1, 2])
    func formerVersionSeen(version: UInt64) async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        try await engine?.add("set", "secret", control)
        let record = try #require(await engine?.keybag.record)
        try engine?.forgetKeybag()
        await engine?.close()
        engine = nil
        try rewrite(record, enrolment: record.enrolment, version: version)
        let next = try await keychain.restart()
        #expect(try await next.observe(Self.left).changed == false)
        #expect(try await next.secret("set", proofs: [Proofs.of(control, [.biometry])]) == "secret")
        #expect(try await next.observe(Self.both).changed)
        #expect(try await next.all(returns: [.attributes, .invalidated]).map(\.invalidated) == [Self.now])
        await next.close()
    }

    /// The time that a test's engine uses.
    private static let now: Int64 = 1_700_000_000_000_000

    /// Replaces the keybag by one that version 1 or 2 would have written.
    private func rewrite(_ record: KeybagRecord, enrolment: [UInt8]?, version: UInt64 = 1) throws {
        var former = record
        former.enrolment = enrolment
        try keychain.writeFormer(former, version: version)
    }

    @Test("a passcode change, recovery and a restart keep the set, and a later change is detected")
    func flows() async throws {
        var engine: KeychainEngine? = try keychain.start()
        var recovery: [UInt8] = []
        try await { () async throws in
            let made = try engine.required.makeRecoveryCode()
            recovery = made.withOctets { octets in octets.indices.map { octets[$0] } }
            try await engine.required.setUp(
                passcode: .text(TestKeychain.passcode),
                recoveryCode: made,
                enrolled: Self.left
            )
        }()
        try await engine?.add("set", "secret", control)
        let key = try #require(try await engine?.key(TestKeychain.passcode))
        let proof = Proofs.of(
            try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode),
            [.passcode],
            key: key
        )
        try await engine?.changePasscode(to: .text("another passcode"), proof: proof)
        #expect(try await engine?.observe(Self.left).changed == false)
        try await engine?.recover(
            code: SecretBytes(copying: recovery),
            newPasscode: .text(TestKeychain.passcode)
        )
        #expect(try await engine?.observe(Self.left).changed == false)
        try await keychain.restart(&engine)
        #expect(try await engine?.observe(Self.left).changed == false)
        #expect(try await engine?.secret("set", proofs: [Proofs.of(control, [.biometry])]) == "secret")
        #expect(try await engine?.observe(Self.both).changed == true)
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine?.secret("set", proofs: [Proofs.of(control, [.biometry])])
        }
        await engine?.close()
    }

    @Test("invalidated items are listed with their time and deleted only if the query asks for them")
    func lostItems() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("lost", "secret", control)
        try await engine.add("lost too", "secret", control)
        try await engine.add("kept", "secret")
        _ = try await engine.observe(Self.both)
        #expect(try await engine.all(returns: .attributes).count == 1)
        let all = try await engine.all(returns: [.attributes, .persistentRef, .invalidated])
        #expect(all.count == 3)
        #expect(all.compactMap(\.invalidated) == [Self.now, Self.now])
        #expect(all.allSatisfy { $0.reference != nil && $0.attributes != nil && $0.data == nil })
        let named = ItemQuery(
            itemClass: .genericPassword,
            attributes: [.account: .string("lost")],
            returns: .invalidated
        )
        #expect(try await engine.delete(named, groups: [.ours]) == 1)
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine.delete(named, groups: [.ours])
        }
        await #expect(throws: KeychainError(.itemNotFound)) { try await engine.delete("lost too") }
    }

    @Test("the times of the last 64 enrolment changes are kept")
    func manyEnds() {
        var ends = EpochEnds()
        for epoch in 1...100 { ends.end(UInt64(epoch), at: Int64(epoch)) }
        #expect(ends[36] == nil)
        #expect(ends[37] == 37 && ends[100] == 100)
    }
}
