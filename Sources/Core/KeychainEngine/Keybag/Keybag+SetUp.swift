public import KeychainModel
internal import Primitives
public import SecretMemory

extension Keybag {
    /// Creates the keybag, durably, and leaves it unlocked.
    public func setUp(
        passcode: consuming SecretBytes,
        recoveryCode: borrowing SecretBytes,
        enrolled: Enrolment? = nil
    ) async throws(KeychainError) {
        guard let code = RecoveryCode.parse(recoveryCode) else { throw KeychainError(.param) }
        try await makeKeybag(passcode: passcode, code: code, enrolled: enrolled) { _, _ in }
    }

    /// Creates the keybag after `fill` added items to its new store; durable in order, the keybag last.
    func makeKeybag(
        passcode: consuming SecretBytes,
        code: Key,
        enrolled: Enrolment?,
        fill: (ItemStore, ItemContext) throws(KeychainError) -> Void
    ) async throws(KeychainError) {
        let passcode = try Self.acceptable(passcode)
        await enterKeybag()
        defer { leaveKeybag() }
        guard case .notSetUp = standing else { throw KeychainError(.duplicateItem) }
        let cost: PasscodeDerivation.Cost
        if let requestedCost { cost = requestedCost } else { cost = await PasscodeDerivation.calibrated() }

        let storeID = RandomBytes.array(count: KeybagRecord.storeIDByteCount)
        let keybagKey = Key.random()
        let pair = PasscodeConstraint.makePair()
        let binding = try await bind(
            passcode,
            keybagKey,
            pair.privateKey,
            replacing: nil,
            storeID: storeID,
            cost: cost
        )
        var counters: NewCounters?
        do throws(KeychainError) {
            counters = try await makeCounters(for: storeID)
            // No keybag tells otherwise yet, so the hardware may know this keychain from the start.
            counters?.names.mark = try await self.counters?.makeMark(of: storeID)
            let wrapping = KeybagKeys.Wrapping(keybagKey: keybagKey, epoch: counters?.epochSecret)
            var record = Self.newRecord(storeID, binding, pair, wrapping, code, counters?.names)
            var ring = try KeybagKeys.unwrapAll(of: record, with: wrapping)
            if let enrolled {
                let digests = Self.digests(of: enrolled, metadata: ring.metadata, storeID: storeID)
                record.enrolment = digests.whole
                record.enrolmentNames = digests.names
                record.hasFingers = !enrolled.isEmpty
            }
            if record.needsCurrentSetKey {
                KeybagKeys.wrap(.random(), as: .biometryCurrentSet, in: &record, with: wrapping)
                ring = try KeybagKeys.unwrapAll(of: record, with: wrapping)
            }
            seenCompletions = enrolled?.completions ?? 0
            try save(record, ring, keybagKey, generation: counters?.generation, fill)
        } catch {
            try? await sealer.destroy(binding.blob)
            await destroy(counters?.names)
            throw error
        }
        await renewEscrow(of: keybagKey)
        report(.keybagCreated, detail: binding.assurance.name)
    }

    /// The record of a new keybag, with new keys.
    private static func newRecord(
        _ storeID: [UInt8],
        _ binding: PasscodeBinding,
        _ pair: (publicKey: [UInt8], privateKey: Key),
        _ wrapping: KeybagKeys.Wrapping,
        _ code: Key,
        _ hardware: KeybagRecord.HardwareCounters?
    ) -> KeybagRecord {
        let recovery = KeybagKeys.recoveryKeys(code: code, storeID: storeID)
        var record = KeybagRecord(
            storeID: storeID,
            cost: binding.cost,
            salt: binding.salt,
            assurance: binding.assurance,
            blob: binding.blob,
            passcodeWrap: binding.passcodeWrap,
            recoveryWrap: KeybagKeys.wrap(
                wrapping.keybagKey,
                KeybagKeys.byRecovery,
                storeID: storeID,
                with: recovery.keybag
            ),
            keys: [:],
            epoch: 1,
            enrolment: nil,
            hasFingers: false,
            passcodePublicKey: pair.publicKey,
            passcodePrivateWrap: binding.privateWrap,
            passcodePrivateRecoveryWrap: KeybagKeys.wrap(
                pair.privateKey,
                KeybagKeys.privateByRecovery,
                storeID: storeID,
                with: recovery.constraint
            ),
            hardware: hardware,
            revision: 1
        )
        for name in KeybagKeyName.allCases where name != .biometryCurrentSet {
            KeybagKeys.wrap(.random(), as: name, in: &record, with: wrapping)
        }
        return record
    }

    /// Creates the files and loads the keys; the keybag is written last: without it, the other files do not count.
    private func save(
        _ record: KeybagRecord,
        _ ring: KeyRing,
        _ keybagKey: Key,
        generation: UInt64?,
        _ fill: (ItemStore, ItemContext) throws(KeychainError) -> Void
    ) throws(KeychainError) {
        try DeviceKeyFile(directory: directory).make()
        try attempts.reset()
        let fresh = try ItemStore.make(
            in: directory,
            storeID: record.storeID,
            setKey: ring.itemSet,
            generation: generation ?? 0,
            keybag: record.revision,
            limits: items.limits
        )
        let keybag = OpenKeybag(record, ring)
        try fill(fresh, keybag.context)
        try writeFile(of: record, keybagKey: keybagKey)
        items.use(fresh, counted: generation)
        standing = .open(keybag, keybagKey: keybagKey)
    }
}
