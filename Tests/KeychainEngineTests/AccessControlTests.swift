import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("An item opens only when its access control is satisfied")
struct AccessControlTests {
    let keychain = TestKeychain()

    /// Every combination of constraints that Apple's rules allow here.
    static let flags: [AccessControlFlags] = {
        var all: [AccessControlFlags] = [.userPresence]
        for biometry: AccessControlFlags in [[], .biometryAny, .biometryCurrentSet] {
            for passcode: AccessControlFlags in [[], .devicePasscode] {
                for companion: AccessControlFlags in [[], .companion] {
                    let constraints = biometry.union(passcode).union(companion)
                    guard !constraints.isEmpty else { continue }
                    all += [constraints, constraints.union(.and), constraints.union(.or)]
                }
            }
        }
        return all
    }()

    /// The expected result, computed independently of the engine.
    static func opens(_ flags: AccessControlFlags, _ factors: Set<AuthenticationFactor>) -> Bool {
        if flags.contains(.userPresence) { return !factors.isEmpty }
        var met: [Bool] = []
        if !flags.isDisjoint(with: [.biometryAny, .biometryCurrentSet]) {
            met.append(factors.contains(.biometry))
        }
        if flags.contains(.devicePasscode) { met.append(factors.contains(.passcode)) }
        if flags.contains(.companion) { met.append(false) }
        return flags.contains(.or) ? met.contains(true) : met.allSatisfy { $0 }
    }

    @Test("every combination of constraints is checked against every combination of factors")
    func matrix() async throws {
        let (engine, key) = try await keychain.setUp()
        let shown: [Set<AuthenticationFactor>] = [[], [.biometry], [.passcode], [.biometry, .passcode]]
        for flags in Self.flags {
            let control = try AccessControl(accessibility: .whenUnlocked, flags: flags)
            let account = "flags \(flags.rawValue)"
            guard Self.opens(flags, [.biometry, .passcode]) else {
                await #expect(throws: KeychainError(.authFailed), "a companion alone is never met") {
                    try await engine.add(account, "secret", control)
                }
                continue
            }
            try await engine.add(account, "secret", control)
            for factors in shown {
                let proofs = factors.isEmpty ? [] : [Proofs.of(control, factors, key: key)]
                if Self.opens(flags, factors) {
                    #expect(
                        try await engine.secret(account, proofs: proofs) == "secret",
                        "\(flags) \(factors)"
                    )
                } else {
                    let needs = await #expect(throws: NeedsAuthentication.self, "\(flags) \(factors)") {
                        try await engine.secret(account, proofs: proofs)
                    }
                    #expect(needs?.controls == [control])
                }
            }
            let elsewhere = Proofs.of(control, [.biometry, .passcode], key: key, operation: .useKeySign)
            await #expect(throws: NeedsAuthentication.self, "another operation's proof") {
                try await engine.secret(account, proofs: [elsewhere])
            }
        }
    }

    @Test("a proof that claims the passcode without the passcode key opens nothing")
    func forgedProof() async throws {
        let (engine, _) = try await keychain.setUp()
        for flags: AccessControlFlags in [.devicePasscode, [.devicePasscode, .biometryAny]] {
            let control = try AccessControl(accessibility: .whenUnlocked, flags: flags)
            try await engine.add("flags \(flags.rawValue)", "secret", control)
            await #expect(throws: KeychainError(.authFailed)) {
                try await engine.secret("flags \(flags.rawValue)", proofs: [Proofs.forged])
            }
        }
    }

    @Test("another keychain's passcode key opens nothing")
    func foreignKey() async throws {
        let (engine, _) = try await keychain.setUp()
        let (_, foreign) = try await TestKeychain().setUp()
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        try await engine.add("guarded", "secret", control)
        await #expect(throws: KeychainError(.decode)) {
            try await engine.secret("guarded", proofs: [Proofs.of(control, [.passcode], key: foreign)])
        }
    }

    @Test("a proof for a weaker access control does not open a stricter one")
    func weakerProof() async throws {
        let (engine, _) = try await keychain.setUp()
        let presence = try AccessControl(accessibility: .whenUnlocked, flags: .userPresence)
        let biometry = try AccessControl(accessibility: .whenUnlocked, flags: .biometryAny)
        try await engine.add("guarded", "secret", biometry)
        await #expect(throws: NeedsAuthentication.self) {
            try await engine.secret("guarded", proofs: [Proofs.of(presence, [.biometry])])
        }
    }

    @Test("attributes need no prompt; UI `fail` reports that one is needed; UI `skip` leaves the item out")
    func authenticationUI() async throws {
        let (engine, _) = try await keychain.setUp()
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .userPresence)
        try await engine.add("guarded", "secret", control)
        try await engine.add("open", "secret")
        let attributes = try await engine.all(returns: .attributes)
        #expect(attributes.count == 2)
        #expect(attributes.first?.attributes?[.accessControl] == .data(control.encoded))
        await #expect(throws: KeychainError(.interactionNotAllowed)) { try await engine.all(ui: .fail) }
        #expect(try await engine.all(ui: .skip).map(\.text) == ["secret"])
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine.all([.account: .string("guarded")], ui: .skip)
        }
        #expect(try await engine.all(proofs: [Proofs.of(control, [.biometry])], ui: .skip).count == 2)
    }

    @Test("a query over several items reports all access controls that need the user at once")
    func collectedControls() async throws {
        let (engine, _) = try await keychain.setUp()
        let one = try AccessControl(accessibility: .whenUnlocked, flags: .userPresence)
        let other = try AccessControl(accessibility: .whenUnlocked, flags: .biometryAny)
        try await engine.add("a", "secret")
        try await engine.add("b", "secret", one)
        try await engine.add("c", "secret", other)
        try await engine.add("d", "secret", one)
        let needs = await #expect(throws: NeedsAuthentication.self) { try await engine.all() }
        #expect(needs?.controls == [one, other])
        let proofs = [Proofs.of(one, [.biometry]), Proofs.of(other, [.biometry])]
        #expect(try await engine.all(proofs: proofs).count == 4)
    }

    @Test("an item cannot be updated without opening it, but it can be deleted")
    func updateNeedsTheUser() async throws {
        let (engine, key) = try await keychain.setUp()
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        try await engine.add("guarded", "old", control)
        #expect(try await engine.update("guarded", secret: "new") == .needsAuthentication([control]))
        await #expect(throws: KeychainError(.authFailed)) {
            try await engine.update("guarded", secret: "new", proofs: [Proofs.forged])
        }
        let proof = Proofs.of(control, [.passcode], key: key)
        #expect(try await engine.secret("guarded", proofs: [proof]) == "old")
        #expect(try await engine.update("guarded", secret: "new", proofs: [proof]) == .updated(1))
        #expect(try await engine.secret("guarded", proofs: [proof]) == "new")
        #expect(try await engine.delete("guarded") == 1)
    }

    @Test("a wrong application password fails, and a missing one has its own cause")
    func applicationPassword() async throws {
        let (engine, _) = try await keychain.setUp()
        let flags: [AccessControlFlags] = [.applicationPassword, [.applicationPassword, .userPresence]]
        for (index, flags) in flags.enumerated() {
            let control = try AccessControl(accessibility: .whenUnlocked, flags: flags)
            await #expect(throws: KeychainError(.authFailed)) {
                try await engine.add("\(index)", "secret", control)
            }
            try await engine.add("\(index)", "secret", control, password: ApplicationPassword(.text("right")))
            let proofs = [Proofs.of(control, [.biometry])]
            func read(_ password: String?) async throws -> String? {
                let found = try await engine.all(
                    [.account: .string("\(index)")],
                    proofs: proofs,
                    password: password.map { ApplicationPassword(.text($0)) }
                )
                return found.first?.text
            }
            #expect(try await read("right") == "secret")
            await #expect(throws: KeychainError(.authFailed)) { try await read("wrong") }
            let missing = await #expect(throws: KeychainError.self) { try await read(nil) }
            #expect(missing?.cause?.code == "application password missing")
        }
    }
}

@Suite("Each accessibility class is readable only in its lock states")
struct AccessibilityTests {
    let keychain = TestKeychain()

    @Test("a lock and a restart make the right items unreadable", arguments: Accessibility.allCases)
    func lockStates(accessibility: Accessibility) async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        try await engine?.add("item", "secret", AccessControl(accessibility: accessibility))
        #expect(try await engine?.secret("item") == "secret")
        await engine?.lock()
        let survives: Set<Accessibility> = [
            .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly, .always, .alwaysThisDeviceOnly,
        ]
        if survives.contains(accessibility) {
            #expect(try await engine?.secret("item") == "secret")
        } else {
            let error = await #expect(throws: KeychainError(.interactionNotAllowed)) {
                try await engine?.secret("item")
            }
            #expect(error?.cause == .locked)
            await #expect(throws: KeychainError(.interactionNotAllowed)) {
                try await engine?.add("another", "secret", AccessControl(accessibility: accessibility))
            }
        }
        #expect(try await engine?.all(returns: .attributes).count == 1, "attributes stay readable")
        await engine?.close()
        engine = nil
        let next = try await keychain.restart(unlocked: false)
        await #expect(throws: KeychainError(.interactionNotAllowed)) { try await next.secret("item") }
        _ = try await next.key(TestKeychain.passcode)
        #expect(try await next.secret("item") == "secret")
    }

    @Test("a fingerprint opens nothing while the keybag is locked")
    func lockedBiometry() async throws {
        let (engine, _) = try await keychain.setUp()
        let control = try AccessControl(accessibility: .afterFirstUnlock, flags: .biometryAny)
        try await engine.add("guarded", "secret", control)
        await engine.lock()
        await #expect(throws: KeychainError(.interactionNotAllowed)) {
            try await engine.secret("guarded", proofs: [Proofs.of(control, [.biometry])])
        }
    }
}
