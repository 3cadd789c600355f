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

    /// Creates the keybag after `fill` added items to its new store; nothing that may belong to a keychain is replaced.
    func makeKeybag(
        passcode: consuming SecretBytes,
        code: Key,
        enrolled: Enrolment?,
        fill: (ItemStore, ItemContext) throws(KeychainError) -> Void
    ) async throws(KeychainError) {
        let passcode = try Self.acceptable(passcode)
        await enterKeybag()
        defer { leaveKeybag() }
        try checkIsFree()
        let cost: PasscodeDerivation.Cost
        if let requestedCost { cost = requestedCost } else { cost = await PasscodeDerivation.calibrated() }

        let storeID = RandomBytes.array(count: KeybagRecord.storeIDByteCount)
        let keybagKey = Key.random()
        let pair = PasscodeConstraint.makePair()
        let binding: PasscodeBinding
        do throws(KeychainError) {
            binding = try await bind(
                passcode,
                keybagKey,
                pair.privateKey,
                replacing: nil,
                storeID: storeID,
                cost: cost
            )
        } catch {
            // Beside a keychain that was put here meanwhile nothing is sealed.
            try checkIsFree()
            throw error
        }
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
            // Unless the keybag may be on the disk after all.
            let found = try? file.read().keybags
            if found?.contains(where: { $0.record.storeID == storeID }) == false {
                await discard(binding.blob, counters?.names)
            }
            throw error
        }
        try useNewItems(counted: counters?.generation)
        await renewEscrow(of: keybagKey)
        report(.keybagCreated, detail: binding.assurance.name)
    }

    /// Looks at the disk, where a keychain may have been put since the start.
    ///
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` if there is one, or what may be one.
    private func checkIsFree() throws(KeychainError) {
        lookAgain()
        guard case .notSetUp = standing else { throw .alreadySetUp }
        // A file that cannot be read is one, too.
        guard try !KeybagFile.exists(in: directory), try !ItemStore.mayHaveItems(in: directory) else {
            throw .alreadySetUp
        }
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
        var record = KeybagRecord(
            storeID: storeID,
            cost: binding.cost,
            salt: binding.salt,
            assurance: binding.assurance,
            blob: binding.blob,
            passcodeWrap: binding.passcodeWrap,
            recoveryWrap: [],
            keys: [:],
            epoch: 1,
            enrolment: nil,
            hasFingers: false,
            passcodePublicKey: pair.publicKey,
            passcodePrivateWrap: binding.privateWrap,
            passcodePrivateRecoveryWrap: [],
            hardware: hardware,
            revision: 1
        )
        record.wrap(wrapping.keybagKey, pair.privateKey, byRecovery: code)
        for name in KeybagKeyName.allCases where name != .biometryCurrentSet {
            KeybagKeys.wrap(.random(), as: name, in: &record, with: wrapping)
        }
        return record
    }

    /// Creates the files and loads the keys.
    ///
    /// The items are complete before the keybag is made, exclusively, and get their name after it (``NewItems``).
    private func save(
        _ record: KeybagRecord,
        _ ring: KeyRing,
        _ keybagKey: Key,
        generation: UInt64?,
        _ fill: (ItemStore, ItemContext) throws(KeychainError) -> Void
    ) throws(KeychainError) {
        // Again: deriving the key and the hardware took a while.
        try checkIsFree()
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
        let new = NewItems(in: directory)
        do throws(KeychainError) {
            try fill(fresh, keybag.context)
            try fresh.finish()
            try new.markForSetUp()
            try makeFile(of: record, keybagKey: keybagKey)
        } catch {
            fresh.database.shut()
            try? directory.removeItems(.newItems)
            try? new.settle()
            throw error
        }
        standing = .open(keybag, keybagKey: keybagKey)
    }

    /// Gives the new items their name; the next start does it if this fails.
    private func useNewItems(counted generation: UInt64?) throws(KeychainError) {
        guard let context = standing.context else { throw .locked }
        try NewItems(in: directory).settle()
        try items.use(context, counted: generation)
    }
}
