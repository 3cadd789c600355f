import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("A change of the enrolled fingers invalidates the items bound to the old set")
struct EnrolmentTests {
    let keychain = TestKeychain()
    private static let left = Enrolment(
        device: "sensor",
        fingers: ["left-index"],
        templateDigest: nil,
        completions: 0
    )
    private static let both = Enrolment(
        device: "sensor",
        fingers: ["left-index", "right-index"],
        templateDigest: nil,
        completions: 0
    )
    private static let none = Enrolment(device: "sensor", fingers: [], templateDigest: nil, completions: 0)

    private func controls() throws -> [(String, AccessControl)] {
        try [
            ("current", .biometryCurrentSet), ("any", .biometryAny), ("presence", .userPresence),
            ("either", [.biometryCurrentSet, .or, .devicePasscode]),
            ("both", [.biometryCurrentSet, .devicePasscode]),
        ].map { ($0, try AccessControl(accessibility: .whenUnlocked, flags: $1)) }
    }

    @Test("current-set items are invalidated, other items remain, and the domain state changes")
    func addedFinger() async throws {
        let (engine, key) = try await keychain.setUp()
        let first = try await engine.observe(Self.left)
        #expect(!first.changed)
        #expect(first.domainState?.count == 32)
        #expect(try await engine.observe(Self.left) == first)
        for (name, control) in try controls() { try await engine.add(name, "secret", control) }
        let second = try await engine.observe(Self.both)
        #expect(second.changed)
        #expect(second.domainState != first.domainState)
        #expect(keychain.audit.kinds.contains(.enrolmentChanged))
        #expect(keychain.audit.kinds.contains(.itemsInvalidated))

        for (name, control) in try controls() {
            let proofs = [Proofs.of(control, [.biometry, .passcode], key: key)]
            switch name {
            case "current", "both":
                let error = await #expect(throws: KeychainError(.itemNotFound)) {
                    try await engine.secret(name, proofs: proofs)
                }
                #expect(error?.cause == .invalidated)
            default: #expect(try await engine.secret(name, proofs: proofs) == "secret", "\(name)")
            }
        }
        let report = await engine.check()
        #expect(report == StoreReport(items: 3, invalidated: 2, damaged: 0, isSetAuthentic: true, faults: []))
    }

    @Test("if another constraint suffices, only that one is requested")
    func survivingAlternative() async throws {
        let (engine, key) = try await keychain.setUp()
        _ = try await engine.observe(Self.left)
        let control = try AccessControl(
            accessibility: .whenUnlocked,
            flags: [.biometryCurrentSet, .or, .devicePasscode]
        )
        try await engine.add("either", "secret", control)
        #expect(try await engine.secret("either", proofs: [Proofs.of(control, [.biometry])]) == "secret")
        _ = try await engine.observe(Self.both)
        let needs = await #expect(throws: NeedsAuthentication.self) {
            try await engine.secret("either", proofs: [Proofs.of(control, [.biometry])])
        }
        #expect(needs?.controls.map(\.constraints) == [[.devicePasscode]])
        #expect(
            try await engine.secret("either", proofs: [Proofs.of(control, [.passcode], key: key)]) == "secret"
        )
    }

    @Test("removing the last finger and enrolling it again brings nothing back")
    func removedAndEnrolledAgain() async throws {
        let (engine, _) = try await keychain.setUp()
        _ = try await engine.observe(Self.left)
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
        try await engine.add("current", "secret", control)
        #expect(try await engine.observe(Self.none).changed)
        #expect(try await engine.observe(Self.left).changed)
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine.secret("current", proofs: [Proofs.of(control, [.biometry])])
        }
    }

    @Test("an observed enrolment counts as a change even if the finger names are the same")
    func seenCompletion() async throws {
        let (engine, _) = try await keychain.setUp()
        _ = try await engine.observe(Self.left)
        let again = Enrolment(device: "sensor", fingers: ["left-index"], templateDigest: nil, completions: 1)
        #expect(try await engine.observe(again).changed)
        #expect(try await engine.observe(again).changed == false)
        #expect(try await engine.observe(again).binding == .names)
    }

    @Test("the templates' digest decides if it is readable")
    func templates() async throws {
        let (engine, _) = try await keychain.setUp()
        let one = Enrolment(device: "sensor", fingers: ["left-index"], templateDigest: [1], completions: 0)
        let counted = Enrolment(
            device: "sensor",
            fingers: ["left-index"],
            templateDigest: [1],
            completions: 5
        )
        let other = Enrolment(device: "sensor", fingers: ["left-index"], templateDigest: [2], completions: 5)
        _ = try await engine.observe(one)
        #expect(try await engine.observe(counted).changed == false)
        #expect(try await engine.observe(other).changed)
    }

    @Test("a change while the keybag is locked or the daemon is down is detected")
    func changeWhileLocked() async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        _ = try await engine?.observe(Self.left)
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
        try await engine?.add("current", "secret", control)
        await engine?.lock()
        #expect(try await engine?.observe(Self.both).changed == true)
        _ = try await engine?.key(TestKeychain.passcode)
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine?.secret("current", proofs: [Proofs.of(control, [.biometry])])
        }
        try await engine?.add("newer", "secret", control)
        #expect(try await engine?.secret("newer", proofs: [Proofs.of(control, [.biometry])]) == "secret")
        await engine?.close()
        engine = nil
        let next = try await keychain.restart()
        #expect(try await next.secret("newer", proofs: [Proofs.of(control, [.biometry])]) == "secret")
        #expect(try await next.observe(Self.left).changed)
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await next.secret("newer", proofs: [Proofs.of(control, [.biometry])])
        }
    }

    @Test("the enrolled set cannot be compared before the first unlock")
    func locked() async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        await engine?.close()
        engine = nil
        let next = try await keychain.restart(unlocked: false)
        await #expect(throws: KeychainError(.interactionNotAllowed)) { try await next.observe(Self.left) }
    }

    @Test("an add replaces an invalidated item, and a delete reports an invalidated item as not found")
    func replaced() async throws {
        let (engine, _) = try await keychain.setUp()
        _ = try await engine.observe(Self.left)
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
        try await engine.add("one", "old", control)
        try await engine.add("two", "old", control)
        _ = try await engine.observe(Self.both)
        try await engine.add("one", "new", control)
        #expect(try await engine.secret("one", proofs: [Proofs.of(control, [.biometry])]) == "new")
        await #expect(throws: KeychainError(.itemNotFound)) { try await engine.update("two", secret: "x") }
        await #expect(throws: KeychainError(.itemNotFound)) { try await engine.delete("two") }
        let report = await engine.check()
        #expect(report == StoreReport(items: 1, invalidated: 0, damaged: 0, isSetAuthentic: true, faults: []))
    }

    @Test("repeated enrolment changes leave only the items of the last set", arguments: [1, 2, 4, 8, 16])
    func manyEpochs(count: Int) async throws {
        let (engine, _) = try await keychain.setUp()
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
        _ = try await engine.observe(Self.left)
        for index in 0..<count {
            try await engine.add("item \(index)", "secret", control)
            #expect(try await engine.observe(index % 2 == 0 ? Self.both : Self.left).changed)
        }
        try await engine.add("last", "secret", control)
        let found = try await engine.all(proofs: [Proofs.of(control, [.biometry])])
        #expect(found.count == 1)
        #expect(await engine.check().invalidated == count)
    }
}
