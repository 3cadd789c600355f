public import KeychainModel
internal import Primitives
public import SecretMemory

/// The hardware counters of the keybag: the epoch of the enrolled set, and the generation of the store.
extension Keybag {
    /// Newly created counters.
    struct NewCounters {
        var names: KeybagRecord.HardwareCounters
        let epochSecret: Key
        let generation: UInt64
    }

    /// Creates the counters of a new keybag; nil without hardware.
    func makeCounters(for storeID: [UInt8]) async throws(KeychainError) -> NewCounters? {
        guard let counters else { return nil }
        let epoch = try await counters.makeEpoch(for: storeID)
        let name = epoch.blob
        let secret = Key(epoch.secret.copy())
        do throws(KeychainError) {
            let (generation, value) = try await counters.makeGeneration(for: storeID)
            return NewCounters(
                names: KeybagRecord.HardwareCounters(epoch: name, generation: generation),
                epochSecret: secret,
                generation: value
            )
        } catch {
            try? await counters.destroyEpoch(name)
            throw error
        }
    }

    /// Destroys hardware objects that an interrupted operation left behind and that no keybag refers to.
    func removeLeftovers(keeping record: KeybagRecord?, of storeID: [UInt8]) async {
        try? await sealer.removeLeftovers(keeping: record?.blob, of: storeID)
        let names = record?.hardware?.objects.map(\.blob) ?? []
        try? await counters?.removeLeftovers(keeping: names, of: storeID)
    }

    /// Destroys counters that no keybag refers to any more.
    func destroy(_ names: KeybagRecord.HardwareCounters?) async {
        guard let counters, let names else { return }
        try? await counters.destroyEpoch(names.epoch)
        try? await counters.destroyGeneration(names.generation)
        if let mark = names.mark { try? await counters.destroyMark(mark) }
    }

    /// Advances the epoch and stores its name in the record, with a new counter if the former one is gone; nil without
    /// hardware.
    func nextEpoch(of record: inout KeybagRecord) async throws(KeychainError) -> Key? {
        guard let counters, let names = record.hardware else { return nil }
        do throws(KeychainError) {
            return Self.take(try await counters.nextEpoch(after: names.epoch), in: &record)
        } catch {
            guard error.cause == .invalidated || error.cause == .otherHardware else { throw error }
        }
        return Self.take(try await counters.makeEpoch(for: record.storeID), in: &record)
    }

    private static func take(_ epoch: consuming SealedDeviceSecret, in record: inout KeybagRecord) -> Key {
        record.hardware?.epoch = epoch.blob
        return Key(epoch.secret.copy())
    }

    /// Whether an authorisation for the hardware's lockout can be set.
    public func canProtectLockout() async throws(KeychainError) -> Bool {
        guard let counters else { return false }
        return try await !counters.hasLockoutAuthorization()
    }

    /// Sets the authorisation for the hardware's lockout: the code's symbols without hyphens.
    public func protectLockout(with code: borrowing SecretBytes) async throws(KeychainError) {
        guard let counters else { throw KeychainError(.unimplemented) }
        try await counters.setLockoutAuthorization(RecoveryCode.symbols(of: code))
        report(.lockoutProtected)
    }

    /// The wrapping keys of a record whose epoch is the hardware's present one.
    func wrapping(
        of record: KeybagRecord,
        _ keybagKey: Key
    ) async throws(KeychainError) -> KeybagKeys.Wrapping {
        guard let names = record.hardware else {
            return KeybagKeys.Wrapping(keybagKey: keybagKey, epoch: nil)
        }
        guard let counters else { throw KeychainError(.decode, cause: .missingHardware, remedy: .check) }
        let secret = Key(try await counters.openEpoch(names.epoch))
        return KeybagKeys.Wrapping(keybagKey: keybagKey, epoch: secret)
    }

    /// Like ``wrapping(of:_:)``, but a record behind the hardware's epoch loses the current set's key.
    ///
    /// A record is behind if the machine stopped between advancing the epoch and writing the keybag, or if an older copy
    /// of the keybag was restored.
    func epochInStep(
        of record: inout KeybagRecord,
        _ keybagKey: Key
    ) async throws(KeychainError) -> KeybagKeys.Wrapping {
        do throws(KeychainError) {
            return try await wrapping(of: record, keybagKey)
        } catch {
            guard error.cause == .invalidated else { throw error }
        }
        record.endEpoch(metadata: metadataKey(of: record, keybagKey), at: wallClock())
        let epoch = try await nextEpoch(of: &record)
        report(.enrolmentChanged, detail: "epoch \(record.epoch), behind the hardware's")
        return KeybagKeys.Wrapping(keybagKey: keybagKey, epoch: epoch)
    }

    /// Writes a record with a new seal on this machine's hardware in place of the former one.
    ///
    /// The former seal and its counters are destroyed once the new keybag is durable. Secrets that only the former
    /// hardware could open are lost: without it the current set gets a new key.
    func replace(
        _ former: KeybagRecord,
        with record: inout KeybagRecord,
        keybagKey: Key
    ) async throws(KeychainError) {
        let made: KeybagRecord.HardwareCounters?
        do throws(KeychainError) {
            made = try await moveCounters(of: &record, keybagKey)
        } catch {
            try? await sealer.destroy(record.blob)
            throw error
        }
        do throws(KeychainError) {
            try writeKeybag(&record, keybagKey: keybagKey)
        } catch {
            try? await sealer.destroy(record.blob)
            await destroy(made)
            throw error
        }
        try? await sealer.destroy(former.blob)
        if record.hardware != former.hardware { await destroy(former.hardware) }
    }

    /// Moves the record's counters to this machine's hardware.
    ///
    /// - Returns: newly created counters; nil if they are already there, or there is no hardware.
    private func moveCounters(
        of record: inout KeybagRecord,
        _ keybagKey: Key
    ) async throws(KeychainError) -> KeybagRecord.HardwareCounters? {
        var former: KeybagKeys.Wrapping?
        do throws(KeychainError) {
            former = try await wrapping(of: record, keybagKey)
            // The counters are already on this TPM: nothing to move.
            if let counters, let names = record.hardware {
                _ = try await counters.generation(names.generation)
                return nil
            }
            if counters == nil { return nil }
        } catch {
            let isGone: [DriverCause] = [.invalidated, .otherHardware, .missingHardware]
            guard let cause = error.cause, isGone.contains(cause) else { throw error }
        }
        let currentSet = former.flatMap {
            try? KeybagKeys.unwrapAll(of: record, with: $0)[.biometryCurrentSet]
        }
        var made = try await makeCounters(for: record.storeID)
        if let value = made?.generation { made?.names.adoptsAt = value }
        // Without hardware its objects stay where they are: the record tells that they are known.
        if made == nil { record.former += record.hardware?.objects ?? [] }
        record.hardware = made?.names
        let wrapping = KeybagKeys.Wrapping(keybagKey: keybagKey, epoch: made?.epochSecret)
        if let currentSet {
            KeybagKeys.wrap(currentSet, as: .biometryCurrentSet, in: &record, with: wrapping)
        } else {
            record.endEpoch(metadata: metadataKey(of: record, keybagKey), at: wallClock())
        }
        return made?.names
    }

    /// The metadata key of a record; nil if it cannot be unwrapped.
    private func metadataKey(of record: KeybagRecord, _ keybagKey: Key) -> Key? {
        var others = record
        others.keys[KeybagKeyName.biometryCurrentSet.rawValue] = nil
        let wrapping = KeybagKeys.Wrapping(keybagKey: keybagKey, epoch: nil)
        return try? KeybagKeys.unwrapAll(of: others, with: wrapping)[.metadata]
    }
}

extension KeybagRecord.HardwareCounters {
    /// The hardware objects that it names.
    var objects: [KeybagRecord.FormerObject] {
        let mark = mark.map { KeybagRecord.FormerObject(kind: .mark, blob: $0) }
        return [
            KeybagRecord.FormerObject(kind: .epoch, blob: epoch),
            KeybagRecord.FormerObject(kind: .generation, blob: generation),
        ] + (mark.map { [$0] } ?? [])
    }
}
