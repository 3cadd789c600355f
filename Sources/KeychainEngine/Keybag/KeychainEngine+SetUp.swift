public import KeychainModel
public import SecretMemory

extension KeychainEngine {
    /// Makes the keybag, durably, and leaves it unlocked.
    public func setUp(
        passcode: consuming SecretBytes,
        recoveryCode: borrowing SecretBytes
    ) async throws(KeychainError) {
        guard let code = RecoveryCode.parse(recoveryCode) else { throw KeychainError(.param) }
        try await makeKeybag(passcode: passcode, code: code) { _, _ in }
    }

    /// Makes the keybag after `fill` put items into its new store; one after the other, durably, the keybag last.
    func makeKeybag(
        passcode: consuming SecretBytes,
        code: Key,
        fill: (ItemStore, ItemContext) throws(KeychainError) -> Void
    ) async throws(KeychainError) {
        let passcode = try Self.acceptable(passcode)
        await enterKeybag()
        defer { leaveKeybag() }
        guard record == nil, !isKeybagDamaged else { throw KeychainError(.duplicateItem) }
        let cost: PasscodeDerivation.Cost
        if let requestedCost { cost = requestedCost } else { cost = await PasscodeDerivation.calibrated() }

        let storeID = RandomBytes.array(count: KeybagRecord.storeIDByteCount)
        let keybagKey = Key.random()
        let pair = PasscodeConstraint.makePair()
        let recovery = KeybagKeys.recoveryKeys(code: code, storeID: storeID)
        let binding = try await bind(
            passcode,
            keybagKey,
            pair.privateKey,
            replacing: nil,
            storeID: storeID,
            cost: cost
        )
        let counters: NewCounters?
        do {
            counters = try await makeCounters()
        } catch {
            await sealer.destroy(binding.blob)
            throw error
        }
        var record = KeybagRecord(
            storeID: storeID,
            cost: cost,
            salt: binding.salt,
            assurance: binding.assurance,
            blob: binding.blob,
            passcodeWrap: binding.passcodeWrap,
            recoveryWrap: KeybagKeys.wrap(
                keybagKey,
                KeybagKeys.byRecovery,
                storeID: storeID,
                with: recovery.keybag
            ),
            keys: [:],
            epoch: 1,
            enrolment: nil,
            passcodePublicKey: pair.publicKey,
            passcodePrivateWrap: binding.privateWrap,
            passcodePrivateRecoveryWrap: KeybagKeys.wrap(
                pair.privateKey,
                KeybagKeys.privateByRecovery,
                storeID: storeID,
                with: recovery.constraint
            ),
            hardware: counters?.names
        )
        let wrapping = KeybagKeys.Wrapping(keybagKey: keybagKey, epoch: counters?.epochSecret)
        for name in KeybagKeyName.allCases {
            KeybagKeys.wrap(.random(), as: name, in: &record, with: wrapping)
        }
        let ring = try KeybagKeys.unwrapAll(of: record, with: wrapping)

        // The keybag comes last: without it, what else is there is nothing yet.
        do throws(KeychainError) {
            try DeviceKeyFile(directory: directory).make()
            try attempts.reset()
            let itemSet = try ring.require(.itemSet)
            let fresh = try ItemStore.make(
                in: directory,
                storeID: storeID,
                setKey: itemSet,
                generation: counters?.generation ?? 0
            )
            let context = ItemContext(
                storeID: storeID,
                keys: ring,
                epoch: record.epoch,
                passcodePublicKey: record.passcodePublicKey
            )
            try fill(fresh, context)
            try writeKeybag(record)
            store = fresh
            countedGeneration = counters?.generation
        } catch {
            await sealer.destroy(binding.blob)
            await destroy(counters?.names)
            throw error
        }
        keys = ring
        storeFault = nil
        await renewEscrow(of: keybagKey)
        report(.keybagCreated, detail: binding.assurance.name)
    }
}
