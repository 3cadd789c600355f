internal import KeychainModel
internal import Primitives

/// Opening a keybag with its recovery code, damaged or not.
extension Keybag {
    /// A keybag that the recovery code opened.
    struct Recovered {
        var record: KeybagRecord
        let keybagKey: Key
        /// The private key for items constrained to the passcode.
        let privateKey: Key
        /// Whether a file of the keybag was intact; otherwise they, or the device key, are damaged.
        let isIntact: Bool
    }

    /// Opens the keybag on the disk with its recovery code.
    ///
    /// The newest keybag whose seal is valid counts. If there is none, because both files are damaged or were forged, one is
    /// used that the code opens, without what only the seal authenticates (``KeybagRecord/salvaged(_:cost:revision:)``).
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` for another code.
    func openWithRecovery(_ code: Key) async throws(KeychainError) -> Recovered {
        let reading = try readKeybag()
        if reading.isMissing, case .notSetUp = standing { throw .notSetUp }
        guard !reading.keybags.isEmpty else { throw noteDamage() }
        let isIntact = reading.intact != nil
        var salvaged: Recovered?
        var isOpened = false
        for stored in reading.keybags {
            let record = stored.record
            guard let (keybagKey, openedKey) = KeybagKeys.opened(record, byRecovery: code) else { continue }
            isOpened = true
            guard let privateKey = openedKey else { continue }
            var found = Recovered(
                record: record,
                keybagKey: keybagKey,
                privateKey: privateKey,
                isIntact: isIntact
            )
            let wrapping = KeybagKeys.Wrapping(keybagKey: keybagKey, epoch: nil)
            let setKey = try? KeybagKeys.unwrap(.itemSet, of: record, with: wrapping)
            let known = setKey.flatMap { items.knownKeybag($0, storeID: record.storeID) }
            let revision = reading.keybags.map(\.record.revision).reduce(known ?? 0, max)
            if await isAuthentic(stored, found, known) {
                // The code accepts an older keybag too, which becomes the newest.
                found.record.revision = max(revision, 1)
                return found
            }
            if salvaged == nil {
                let cost: PasscodeDerivation.Cost
                if let requestedCost {
                    cost = requestedCost
                } else {
                    cost = await PasscodeDerivation.calibrated()
                }
                found.record = record.salvaged(privateKey, cost: cost, revision: max(revision, 1))
                salvaged = found
            }
        }
        if let salvaged { return salvaged }
        throw isOpened ? noteDamage() : KeychainError(.authFailed)
    }

    /// Whether all of a keybag that the recovery code opened can be believed.
    private func isAuthentic(_ stored: StoredKeybag, _ found: Recovered, _ known: UInt64?) async -> Bool {
        let record = stored.record
        guard PasscodeConstraint.publicKey(of: found.privateKey) == record.passcodePublicKey else {
            return false
        }
        guard stored.isUnsealed else {
            return stored.isSealed(
                by: KeybagKeys.sealKey(keybagKey: found.keybagKey, storeID: record.storeID)
            )
        }
        guard stored.isIntact, known == 0 else { return false }
        return await !isMarked(record)
    }

    /// Replaces the device key before a keybag is sealed again, if it may be what is damaged; creates it if it is missing.
    func restoreDeviceKey(isDoubted: Bool) throws(KeychainError) {
        let file = DeviceKeyFile(directory: directory)
        guard isDoubted else {
            // Tried again, because a new key closes the present keybag until it is sealed again.
            for _ in 0..<2 where try file.key(.keybagCode) != nil { return }
            return try file.renew()
        }
        try file.renew()
        report(.tamperDetected, detail: "device.key: made anew by the recovery code")
    }
}

extension KeybagRecord {
    /// The record without what is authenticated by its seal alone.
    ///
    /// What the keybag key or the recovery code opens authenticates itself. The enrolled set counts as replaced, hardware as
    /// unknown, and the passcode's derivation as `cost`.
    func salvaged(_ privateKey: Key, cost: PasscodeDerivation.Cost, revision: UInt64) -> KeybagRecord {
        var record = self
        record.cost = cost
        record.blob = []
        record.keys[KeybagKeyName.biometryCurrentSet.rawValue] = nil
        record.epoch += 1
        record.enrolment = nil
        record.enrolmentNames = nil
        record.hasFingers = false
        record.passcodePublicKey = PasscodeConstraint.publicKey(of: privateKey)
        record.hardware = nil
        record.former = []
        record.revision = revision
        return record
    }
}
