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

    /// Writes a record with a new seal in place of the former one.
    ///
    /// The former seal and its counters are destroyed once the new keybag is durable, and the new ones only if the new
    /// keybag is surely not on the disk: at no point are both closed. Secrets that only the former hardware could open
    /// are lost: without it the current set gets a new key.
    ///
    /// - Parameters:
    ///   - former: the record on the disk.
    ///   - record: the new one, afterwards as it was written.
    ///   - keybagKey: the key of both.
    ///   - isHardwareAway: whether the new seal is one without the hardware, which does not answer.
    /// - Throws: ``KeychainError``; with ``KnownCause/unconfirmedChange`` if the new keybag counts nevertheless.
    func replace(
        _ former: KeybagRecord,
        with record: inout KeybagRecord,
        keybagKey: Key,
        isHardwareAway: Bool = false
    ) async throws(KeychainError) {
        var made: KeybagRecord.HardwareCounters?
        if isHardwareAway {
            record.hardware = nil
            if former.hardware != nil {
                record.endEpoch(metadata: metadataKey(of: record, keybagKey), at: wallClock())
            }
        } else {
            do throws(KeychainError) {
                made = try await moveCounters(of: &record, keybagKey)
            } catch {
                await discard(record.blob, nil)
                throw error
            }
        }
        // Named until they are destroyed, which may fail now.
        record.retire(former, hasSeal: sealer.isInHardware(former.blob))
        let written = write(&record, keybagKey: keybagKey)
        switch written {
        case .durable, .unconfirmed: await removeLeftovers(keybagKey: keybagKey)
        case .refused: await discard(record.blob, made)
        case .unknown: break
        }
        if let error = written.error { throw error }
        // Written once more if the former objects are gone.
        if let written = standing.record { record = written }
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
