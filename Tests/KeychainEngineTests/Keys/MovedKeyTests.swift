import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("Moving a private key to another group with its item")
struct MovedKeyTests {
    let keychain = TestKeychain()

    /// Adds an item that holds a key, as the front end does.
    private func add(_ key: EnclaveKey, to engine: KeychainEngine) async throws {
        let item = NewItem(
            itemClass: .key,
            attributes: [.account: .string("key"), .tokenID: .string("com.apple.setoken")],
            accessControl: try AccessControl(accessibility: .whenUnlocked, flags: .privateKeyUsage),
            data: SecretBytes(copying: key.representation)
        )
        _ = try await engine.add(item, group: .ours)
    }

    private func move(
        _ engine: KeychainEngine,
        groups: [AccessGroup] = [.ours, .theirs],
        proofs: [AuthenticationProof] = [],
        password: String? = nil,
        ui: ItemQuery.AuthenticationUI = .allow
    ) async throws -> UpdateOutcome {
        try await engine.update(
            ItemQuery(itemClass: .key, authenticationUI: ui),
            groups: groups,
            changes: ItemChanges(
                attributes: [.accessGroup: .string(AccessGroup.theirs.name)],
                accessControl: nil,
                data: nil
            ),
            authorization: ItemAuthorization(
                proofs: proofs,
                applicationPassword: password.map { ApplicationPassword(.text($0)) }
            )
        )
    }

    /// The key that a group finds; nil if none.
    private func held(_ key: EnclaveKey, _ engine: KeychainEngine, by group: AccessGroup) async throws
        -> EnclaveKey?
    {
        let query = ItemQuery(itemClass: .key, returns: .data)
        do {
            let outcome = try await engine.copy(
                query,
                groups: [group],
                authorization: ItemAuthorization(),
                after: nil
            )
            switch consume outcome {
            case .items(let page): return try decode(page).first?.data.map { key.with(representation: $0) }
            case .needsAuthentication(let controls): throw NeedsAuthentication(controls: controls)
            }
        } catch let error as KeychainError where error.status == .itemNotFound {
            return nil
        }
    }

    @Test("only the new group finds and uses a moved key")
    func moved() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage)
        try await add(key, to: engine)
        #expect(try await move(engine) == .updated(1))
        #expect(try await held(key, engine, by: .ours) == nil)
        let moved = try #require(try await held(key, engine, by: .theirs))
        #expect(try key.signed(try await engine.result(moved, group: .theirs)))
        let error = await #expect(throws: KeychainError(.decode)) { try await engine.result(moved) }
        #expect(error?.cause == .otherGroup)
        // Only the group has changed.
        let read = try await engine.key(moved.representation, groups: [.theirs])
        #expect(read == key.with(representation: moved.representation))
    }

    @Test("moving a guarded key needs authentication, and its constraints still apply in the new group")
    func guarded() async throws {
        let (engine, passcode) = try await keychain.setUp()
        let key = try await engine.makeKey([.devicePasscode, .privateKeyUsage])
        try await add(key, to: engine)
        func proof(_ operation: AccessOperation) -> AuthenticationProof {
            Proofs.of(key.accessControl, [.passcode], key: passcode, operation: operation)
        }
        #expect(try await move(engine) == .needsAuthentication([key.accessControl]))
        // A proof for signing does not authorise giving the key away.
        let signing = try await move(engine, proofs: [proof(.useKeySign)])
        #expect(signing == .needsAuthentication([key.accessControl]))
        await #expect(throws: KeychainError(.interactionNotAllowed)) { try await move(engine, ui: .fail) }
        await #expect(throws: KeychainError(.authFailed)) { try await move(engine, proofs: [Proofs.forged]) }
        #expect(try await held(key, engine, by: .theirs) == nil)
        #expect(try await held(key, engine, by: .ours) == key)

        #expect(try await move(engine, proofs: [proof(.useItem)]) == .updated(1))
        let moved = try #require(try await held(key, engine, by: .theirs))
        await #expect(throws: NeedsAuthentication.self) { try await engine.result(moved, group: .theirs) }
        let signature = try await engine.result(moved, group: .theirs, proofs: [proof(.useKeySign)])
        #expect(try key.signed(signature))
    }

    @Test("moving a key with an application password needs the right password")
    func applicationPassword() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey([.applicationPassword, .privateKeyUsage], password: "right")
        try await add(key, to: engine)
        for password in ["wrong", nil] {
            await #expect(throws: KeychainError(.authFailed)) { try await move(engine, password: password) }
        }
        #expect(try await held(key, engine, by: .ours) == key)
        #expect(try await move(engine, password: "right") == .updated(1))
        let moved = try #require(try await held(key, engine, by: .theirs))
        #expect(try key.signed(try await engine.result(moved, group: .theirs, password: "right")))
        await #expect(throws: KeychainError(.authFailed)) {
            try await engine.result(moved, group: .theirs, password: "wrong")
        }
    }

    @Test("a key that may be used only so often keeps its count and its limits in the other group")
    func limited() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage, limits: try KeyLimits(uses: 2))
        try await add(key, to: engine)
        #expect(try key.signed(try await engine.result(key)))
        #expect(try await move(engine) == .updated(1))
        let moved = try #require(try await held(key, engine, by: .theirs))
        #expect(moved.representation != key.representation)
        #expect(try key.signed(try await engine.result(moved, group: .theirs)))
        for (key, group) in [(moved, AccessGroup.theirs), (key, .ours)] {
            let error = await #expect(throws: KeychainError(.itemNotFound)) {
                try await engine.result(key, group: group)
            }
            #expect(error?.cause == .usedUp)
        }
    }

    @Test("a key with counted signatures counts on in the other group")
    func counted() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage, limits: try KeyLimits(isCounted: true))
        try await add(key, to: engine)
        let use = KeyUse.signCounted(before: [1], after: [2])
        #expect(try await engine.result(key, use).prefix(4) == [0, 0, 0, 1])
        #expect(try await move(engine) == .updated(1))
        let moved = try #require(try await held(key, engine, by: .theirs))
        #expect(try await engine.key(moved.representation, groups: [.theirs]).isCounted)
        #expect(try await engine.result(moved, use, group: .theirs).prefix(4) == [0, 0, 0, 2])
        #expect(try await engine.result(key, use).prefix(4) == [0, 0, 0, 3], "the former representation")
        await #expect(throws: KeychainError(.param)) { try await engine.result(moved, group: .theirs) }
    }

    @Test("a key of a group that the caller does not belong to stays bound to that group")
    func foreign() async throws {
        let (engine, _) = try await keychain.setUp()
        let victim = try #require(AccessGroup("/usr/bin/victim"))
        let key = try await engine.makeKey(.privateKeyUsage, group: victim)
        try await add(key, to: engine)
        #expect(try await move(engine) == .updated(1))
        let copy = try #require(try await held(key, engine, by: .theirs))
        #expect(copy == key)
        for group in [AccessGroup.ours, .theirs] {
            let error = await #expect(throws: KeychainError(.decode)) {
                try await engine.result(copy, group: group)
            }
            #expect(error?.cause == .otherGroup)
        }
    }

    @Test("a key bound to an invalidated enrolled set is moved unchanged and stays invalid")
    func invalidated() async throws {
        let (engine, _) = try await keychain.setUp()
        _ = try await engine.observe(
            Enrolment(device: "sensor", fingers: ["left"], templateDigest: nil, completions: 0)
        )
        let key = try await engine.makeKey([.biometryCurrentSet, .privateKeyUsage])
        try await add(key, to: engine)
        _ = try await engine.observe(
            Enrolment(device: "sensor", fingers: ["right"], templateDigest: nil, completions: 0)
        )
        #expect(try await move(engine) == .updated(1))
        #expect(try await held(key, engine, by: .theirs) == key)
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine.key(key.representation, groups: [.ours])
        }
    }

    @Test("data that is not a valid key is moved unchanged")
    func notAKey() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage)
        var octets = key.representation
        octets[octets.count / 2] ^= 1
        try await add(key.with(representation: octets), to: engine)
        #expect(try await move(engine) == .updated(1))
        #expect(try await held(key, engine, by: .theirs)?.representation == octets)
    }
}
