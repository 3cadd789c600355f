internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// Binds the keybag key to a passcode and to this machine's sealer.
extension Keybag {
    /// The fields of a record that depend on the passcode.
    struct PasscodeBinding {
        let salt: [UInt8]
        let cost: PasscodeDerivation.Cost
        let assurance: Assurance
        let blob: [UInt8]
        let passcodeWrap: [UInt8]
        let privateWrap: [UInt8]

        func apply(to record: inout KeybagRecord) {
            record.salt = salt
            record.cost = cost
            record.assurance = assurance
            record.blob = blob
            record.passcodeWrap = passcodeWrap
            record.passcodePrivateWrap = privateWrap
        }
    }

    /// Binds the keybag key to a passcode and a new device secret, replacing those of a former record.
    func bind(
        _ passcode: Key,
        _ keybagKey: Key,
        _ privateKey: Key,
        replacing former: KeybagRecord?,
        storeID: [UInt8],
        cost: PasscodeDerivation.Cost
    ) async throws(KeychainError) -> PasscodeBinding {
        let salt = RandomBytes.array(count: KeybagRecord.saltByteCount)
        let stretched = await PasscodeDerivation.derive(passcode, salt: salt, cost: cost)
        return try await bind(
            stretched,
            keybagKey,
            privateKey,
            replacing: former,
            storeID: storeID,
            salt: salt,
            cost: cost,
            using: sealer
        )
    }

    /// Binds the keybag key to an already derived passcode and a new device secret.
    func bind(
        _ stretched: Key,
        _ keybagKey: Key,
        _ privateKey: Key,
        replacing former: KeybagRecord?,
        storeID: [UInt8],
        salt: [UInt8],
        cost: PasscodeDerivation.Cost,
        using sealer: any KeySealer
    ) async throws(KeychainError) -> PasscodeBinding {
        let authorization = KeybagKeys.sealAuthorization(stretched: stretched, storeID: storeID)
        // What interrupted operations left would otherwise fill the hardware; but a power failure may bring a keybag back.
        if !isUnconfirmed { try? await clearHardware(keeping: former, of: storeID) }
        let sealed = try await sealer.seal(authorization: authorization.copy(), for: storeID)
        let blob = sealed.blob
        let device = Key(sealed.secret.copy())
        let wrapping = KeybagKeys.passcodeKey(stretched: stretched, device: device, storeID: storeID)
        let constraint = KeybagKeys.constraintKey(passcodeKey: wrapping, storeID: storeID)
        return PasscodeBinding(
            salt: salt,
            cost: cost,
            assurance: isForTests || former?.assurance == .test
                ? .test : await sealer.assurance(of: blob).assurance,
            blob: blob,
            passcodeWrap: KeybagKeys.wrap(keybagKey, KeybagKeys.byPasscode, storeID: storeID, with: wrapping),
            privateWrap: KeybagKeys.wrap(
                privateKey,
                KeybagKeys.privateByPasscode,
                storeID: storeID,
                with: constraint
            )
        )
    }

    /// A record with its keybag key bound to an already derived passcode and a new device secret, in place of its own.
    func rebound(
        _ former: KeybagRecord,
        to stretched: Key,
        salt: [UInt8],
        _ keybagKey: Key,
        _ privateKey: Key,
        using sealer: any KeySealer
    ) async throws(KeychainError) -> KeybagRecord {
        let binding = try await bind(
            stretched,
            keybagKey,
            privateKey,
            replacing: former,
            storeID: former.storeID,
            salt: salt,
            cost: former.cost,
            using: sealer
        )
        var record = former
        binding.apply(to: &record)
        return record
    }

    /// Seals the keybag again with the passcode that just opened it.
    func migrate(
        _ record: inout KeybagRecord,
        _ stretched: Key,
        _ keybagKey: Key,
        _ privateKey: Key
    ) async throws(KeychainError) {
        isMigrating = false
        if record.revision == 0 {
            try await unlock(record, with: keybagKey)
            record = try authenticRecord()
        }
        let former = record
        record = try await rebound(
            former,
            to: stretched,
            salt: former.salt,
            keybagKey,
            privateKey,
            using: sealer
        )
        try await replace(former, with: &record, keybagKey: keybagKey)
        try await unlock(record, with: keybagKey)
        report(.passcodeChanged, detail: "moved from \(former.assurance.name) to \(record.assurance.name)")
    }
}
