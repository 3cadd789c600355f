import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("A private key is usable only when its access control is satisfied")
struct KeyAccessTests {
    let keychain = TestKeychain()

    @Test(
        "every combination of constraints is checked against every combination of factors, for each key use"
    )
    func matrix() async throws {
        let (engine, passcode) = try await keychain.setUp()
        let peer = try await engine.makeKey()
        let uses: [KeyUse] = [
            .sign(digest: Letter.digest), .agree(publicKey: peer.publicKey),
            .decrypt(publicKey: peer.publicKey),
        ]
        for flags in AccessControlTests.flags {
            let flags = flags.union(.privateKeyUsage)
            guard AccessControlTests.opens(flags, [.biometry, .passcode]) else {
                await #expect(throws: KeychainError(.authFailed), "a companion alone is never met") {
                    try await engine.makeKey(flags)
                }
                continue
            }
            let key = try await engine.makeKey(flags)
            for factors: Set<AuthenticationFactor> in [[], [.biometry], [.passcode], [.biometry, .passcode]] {
                for use in uses {
                    let proof = Proofs.of(key.accessControl, factors, key: passcode, operation: use.operation)
                    let proofs = factors.isEmpty ? [] : [proof]
                    if AccessControlTests.opens(flags, factors) {
                        let result = try await engine.result(key, use, proofs: proofs)
                        #expect(result.count == (use == uses[0] ? 64 : 32), "\(flags) \(factors)")
                    } else {
                        let needs = await #expect(throws: NeedsAuthentication.self, "\(flags) \(factors)") {
                            try await engine.result(key, use, proofs: proofs)
                        }
                        #expect(needs?.controls == [key.accessControl])
                    }
                }
            }
        }
    }

    @Test("a proof for one key use is valid for no other use and not for reading an item")
    func operations() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey([.biometryAny, .privateKeyUsage])
        let uses: [KeyUse] = [
            .sign(digest: Letter.digest), .agree(publicKey: key.publicKey),
            .decrypt(publicKey: key.publicKey),
        ]
        for use in uses {
            for operation in AccessOperation.allCases {
                let proof = Proofs.of(key.accessControl, [.biometry], operation: operation)
                if operation == use.operation {
                    #expect(try await !engine.result(key, use, proofs: [proof]).isEmpty)
                } else {
                    await #expect(throws: NeedsAuthentication.self) {
                        try await engine.result(key, use, proofs: [proof])
                    }
                }
            }
            let policy = Proofs.of(key.accessControl, [.biometry], operation: nil)
            #expect(try await !engine.result(key, use, proofs: [policy]).isEmpty)
        }
    }

    @Test("a proof that claims the passcode without the passcode key opens no key that requires it")
    func forged() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey([.devicePasscode, .privateKeyUsage])
        await #expect(throws: KeychainError(.authFailed)) {
            try await engine.result(key, proofs: [Proofs.forged])
        }
    }

    @Test("an access control without the private-key-usage flag makes no key")
    func withoutUsage() async throws {
        let (engine, _) = try await keychain.setUp()
        for flags: AccessControlFlags in [.userPresence, .biometryCurrentSet, .applicationPassword] {
            let error = await #expect(throws: KeychainError(.param)) {
                try await engine.makeKey(flags, password: "right")
            }
            #expect(error?.cause == .withoutKeyUsage)
        }
    }

    @Test("an application password is required to make and use a key, and a wrong one fails")
    func applicationPassword() async throws {
        let (engine, _) = try await keychain.setUp()
        let all: [AccessControlFlags] = [
            [.applicationPassword, .privateKeyUsage],
            [.applicationPassword, .privateKeyUsage, .biometryAny],
        ]
        for flags in all {
            let missing = await #expect(throws: KeychainError(.authFailed)) {
                try await engine.makeKey(flags)
            }
            #expect(missing?.cause?.code == "new application password missing")
            let key = try await engine.makeKey(flags, password: "right")
            let proofs = [Proofs.of(key.accessControl, [.biometry], operation: .useKeySign)]
            #expect(try key.signed(try await engine.result(key, proofs: proofs, password: "right")))
            for password in ["wrong", "", nil] {
                await #expect(throws: KeychainError(.authFailed)) {
                    try await engine.result(key, proofs: proofs, password: password)
                }
            }
            guard flags.contains(.biometryAny) else { continue }
            await #expect(throws: NeedsAuthentication.self) {
                try await engine.result(key, password: "right")
            }
        }
    }

    @Test("a key is usable in the lock states that its accessibility class allows")
    func locked() async throws {
        var keys: [(Accessibility, EnclaveKey)] = []
        do {
            let (engine, _) = try await keychain.setUp()
            for accessibility in Accessibility.allCases {
                keys.append((accessibility, try await engine.makeKey(accessibility: accessibility)))
            }
            let guarded = try await engine.makeKey([.userPresence, .privateKeyUsage])
            // Its class key is available after a lock, but the biometry key is not.
            let late = try await engine.makeKey(
                [.biometryAny, .privateKeyUsage],
                accessibility: .afterFirstUnlock
            )
            for (_, key) in keys { #expect(try key.signed(try await engine.result(key))) }

            await engine.lock()
            for (accessibility, key) in keys {
                #expect(try await engine.key(key.representation, groups: [.ours]) == key)
                if accessibility.classKey.survivesLock {
                    #expect(try key.signed(try await engine.result(key)))
                    _ = try await engine.makeKey(accessibility: accessibility)
                } else {
                    try await expectLocked { _ = try await engine.result(key) }
                    try await expectLocked { _ = try await engine.makeKey(accessibility: accessibility) }
                }
            }
            // Unlocking may satisfy the access control, so no prompt is requested before it.
            try await expectLocked { _ = try await engine.result(guarded) }
            let proofs = [Proofs.of(late.accessControl, [.biometry], operation: .useKeySign)]
            await #expect(throws: NeedsAuthentication.self) { try await engine.result(late) }
            try await expectLocked { _ = try await engine.result(late, proofs: proofs) }
            await engine.close()
        }
        let next = try await keychain.restart(unlocked: false)
        for (_, key) in keys {
            try await expectLocked { _ = try await next.result(key) }
            try await expectLocked { _ = try await next.key(key.representation, groups: [.ours]) }
        }
        _ = try await next.key(TestKeychain.passcode)
        for (_, key) in keys { #expect(try key.signed(try await next.result(key))) }
    }

    private func expectLocked(_ body: () async throws -> Void) async throws {
        let error = await #expect(throws: KeychainError(.interactionNotAllowed)) { try await body() }
        #expect(error?.cause == .locked)
    }

    @Test("before set-up no key can be made")
    func notSetUp() async throws {
        let engine = try keychain.start()
        let error = await #expect(throws: KeychainError(.notAvailable)) { try await engine.makeKey() }
        #expect(error?.cause == .notSetUp)
    }
}

@Suite("Private keys after a change of the enrolled fingers")
struct KeyEnrolmentTests {
    let keychain = TestKeychain()
    private static func enrolment(_ fingers: String...) -> Enrolment {
        Enrolment(device: "sensor", fingers: fingers, templateDigest: nil, completions: 0)
    }

    @Test("keys bound to the old set stay invalid, and other keys remain usable")
    func invalidated() async throws {
        let (engine, passcode) = try await keychain.setUp()
        _ = try await engine.observe(Self.enrolment("left"))
        let dying = [
            try await engine.makeKey([.biometryCurrentSet, .privateKeyUsage]),
            try await engine.makeKey([.biometryCurrentSet, .devicePasscode, .privateKeyUsage]),
            try await engine.makeKey([.biometryCurrentSet, .or, .companion, .privateKeyUsage]),
        ]
        let living = try await engine.makeKey([.biometryAny, .privateKeyUsage])
        func proofs(_ key: EnclaveKey) -> [AuthenticationProof] {
            [Proofs.of(key.accessControl, [.biometry, .passcode], key: passcode, operation: .useKeySign)]
        }
        for key in dying + [living] {
            #expect(try key.signed(try await engine.result(key, proofs: proofs(key))))
        }
        _ = try await engine.observe(Self.enrolment("left", "right"))
        // Enrolled as before: the old keys stay invalid.
        _ = try await engine.observe(Self.enrolment("left"))
        for key in dying {
            let used = await #expect(throws: KeychainError(.itemNotFound)) {
                try await engine.result(key, proofs: proofs(key))
            }
            #expect(used?.cause == .invalidated)
            let read = await #expect(throws: KeychainError(.itemNotFound)) {
                try await engine.key(key.representation, groups: [.ours])
            }
            #expect(read?.cause == .invalidated)
        }
        #expect(try living.signed(try await engine.result(living, proofs: proofs(living))))
        let next = try await engine.makeKey([.biometryCurrentSet, .privateKeyUsage])
        #expect(try next.signed(try await engine.result(next, proofs: proofs(next))))
    }

    @Test("a key with an alternative constraint remains usable, and only the alternative is requested")
    func survivingAlternative() async throws {
        let (engine, passcode) = try await keychain.setUp()
        _ = try await engine.observe(Self.enrolment("left"))
        let key = try await engine.makeKey([.biometryCurrentSet, .or, .devicePasscode, .privateKeyUsage])
        func proof(_ factors: Set<AuthenticationFactor>) -> AuthenticationProof {
            Proofs.of(key.accessControl, factors, key: passcode, operation: .useKeySign)
        }
        #expect(try key.signed(try await engine.result(key, proofs: [proof([.biometry])])))
        _ = try await engine.observe(Self.enrolment("right"))
        let needs = await #expect(throws: NeedsAuthentication.self) {
            try await engine.result(key, proofs: [proof([.biometry])])
        }
        #expect(needs?.controls.map(\.constraints) == [[.devicePasscode]])
        #expect(try key.signed(try await engine.result(key, proofs: [proof([.passcode])])))
        #expect(try key.signed(try await engine.result(key, proofs: [proof([.biometry, .passcode])])))
        // Its access control still reports the original flags.
        #expect(try await engine.key(key.representation, groups: [.ours]) == key)
    }
}
