internal import KeychainModel
internal import Primitives

/// What is verified before a keybag that a key opened is believed, and what follows.
extension Keybag {
    /// The keybag now on the disk: damage is detected before a passcode is tried.
    ///
    /// Nothing in it is believed before ``verify(_:_:_:)``. While keys are in memory, its seal was verified with them, and it
    /// is not older than the one in memory.
    func storedKeybag() throws(KeychainError) -> StoredKeybag {
        lookAgain()
        let reading = try readKeybag()
        if reading.isMissing, case .notSetUp = standing { throw .notSetUp }
        guard let found = reading.intact else { throw noteDamage() }
        if let record {
            guard record.storeID == found.record.storeID else { throw noteDamage() }
            if let sealKey = standing.sealKey {
                guard found.isSealed(by: sealKey) || found.record == record else { throw noteDamage() }
                guard found.record.revision >= record.revision else { throw noteOlder() }
            }
        }
        fileState = reading.isInStep ? .inStep : .apart(found, isFaulty: reading.isFaulty)
        standing.read(found.record)
        return found
    }

    /// The keybag now on the disk, verified with the keys in memory.
    func authenticRecord() throws(KeychainError) -> KeybagRecord { try storedKeybag().record }

    func noteDamage() -> KeychainError {
        if !standing.isFileDamaged { report(.tamperDetected, detail: "keybag") }
        standing.foundDamage()
        return KeychainError(.decode, cause: .damaged, remedy: .recover)
    }

    private func noteOlder() -> KeychainError {
        report(.tamperDetected, detail: "keybag: an older copy")
        return KeychainError(.decode, cause: .olderKeybag, remedy: .recover)
    }

    /// Verifies a keybag that a key opened, before anything in it is believed.
    ///
    /// Verified are its seal; the public key, against the private one; that it is not older than the items noted; and, for a
    /// record that tells of no hardware, that the hardware does not know this keychain. A keybag of a version before 4 has
    /// no seal: it is accepted until a sealed one was written, which items and hardware remember. `privateKey` is the private
    /// key for items constrained to the passcode, nil if it was not opened.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode`, and the cause ``DriverCause/olderKeybag`` for an older keybag: then
    ///   only the recovery code opens it.
    func verify(_ stored: StoredKeybag, _ keybagKey: Key, _ privateKey: Key?) async throws(KeychainError) {
        let record = stored.record
        let sealKey = KeybagKeys.sealKey(keybagKey: keybagKey, storeID: record.storeID)
        guard stored.isUnsealed || stored.isSealed(by: sealKey) else { throw noteDamage() }
        if let privateKey {
            guard PasscodeConstraint.publicKey(of: privateKey) == record.passcodePublicKey else {
                throw noteDamage()
            }
        }
        let wrapping = KeybagKeys.Wrapping(keybagKey: keybagKey, epoch: nil)
        guard let setKey = try KeybagKeys.unwrap(.itemSet, of: record, with: wrapping) else {
            throw noteDamage()
        }
        guard items.knownKeybag(setKey, storeID: record.storeID) ?? 0 <= record.revision else {
            throw noteOlder()
        }
        guard standing.context == nil, stored.isUnsealed || !record.knowsHardware,
            await isMarked(record)
        else { return }
        throw noteOlder()
    }

    /// Whether the hardware knows the keychain of a record.
    func isMarked(_ record: KeybagRecord) async -> Bool {
        guard let counters else { return false }
        do throws(KeychainError) {
            return try await counters.mark(of: record.storeID) != nil
        } catch {
            // A keychain without hardware stays usable beside a chip that does not answer.
            report(.backgroundFailed, detail: "the hardware was not asked: \(error.cause?.code ?? "")")
            return false
        }
    }

    /// Loads the keys of a verified record, and creates a key for the current set if a change destroyed it.
    ///
    /// `isRecovered` says that the recovery code opened it, which also accepts an older copy of the store.
    func unlock(
        _ verified: KeybagRecord,
        with keybagKey: Key,
        isRecovered: Bool = false
    ) async throws(KeychainError) {
        var record = verified
        let wrapping = try await epochInStep(of: &record, keybagKey)
        if record.needsCurrentSetKey {
            KeybagKeys.wrap(.random(), as: .biometryCurrentSet, in: &record, with: wrapping)
        }
        // A record without a seal is written once the items tell that there was none (``complete()``).
        if record != verified, record.revision > 0 { try writeKeybag(&record, keybagKey: keybagKey) }
        let isFirst = try takeReplacing(record, wrapping) || standing.context == nil
        let adoptsAt = record.hardware?.adoptsAt
        // Read before the keys are used, so that no item is read before the comparison.
        let counted =
            isFirst || isRecovered || adoptsAt != nil ? try await hardwareGeneration(of: record) : nil
        let isAdopting = isRecovered || counted != nil && counted == adoptsAt
        var keys = try KeybagKeys.unwrapAll(of: record, with: wrapping)
        keys.withholdsCurrentSet = isCurrentSetUntold
        let opened = Standing.open(OpenKeybag(record, keys), keybagKey: keybagKey)
        let found: SealedItems.Comparison?
        do throws(KeychainError) {
            found = try items.unlock(
                with: opened,
                isFirst: isFirst,
                counted: counted.map { ($0, adopting: isAdopting) }
            )
        } catch {
            standing = opened
            throw error
        }
        standing = opened
        if let found { try await settle(found, adopting: isAdopting, at: counted) }
        if isFirst || hasLeftovers { await removeLeftovers() }
        await complete()
        await renewEscrow(of: keybagKey)
    }

    /// At an unlock, goes on with items that were put in the place of the open ones.
    ///
    /// - Returns: whether there are such.
    private func takeReplacing(
        _ record: KeybagRecord,
        _ wrapping: KeybagKeys.Wrapping
    ) throws(KeychainError) -> Bool {
        guard standing.keybagKey == nil, items.takeReplacing() else { return false }
        guard let setKey = try KeybagKeys.unwrap(.itemSet, of: record, with: wrapping) else {
            throw noteDamage()
        }
        guard items.knownKeybag(setKey, storeID: record.storeID) ?? 0 <= record.revision else {
            throw noteOlder()
        }
        return true
    }

    /// Completes what an opened keybag lacks: the seal, if a version before 4 wrote it; its second file; the items' note of
    /// its revision; and the hardware's mark.
    ///
    /// What fails now, as on a disk that cannot be written, is done at the next unlock.
    func complete() async {
        guard var record = standing.record, standing.keybagKey != nil else { return }
        do throws(KeychainError) {
            try completeFiles(record)
            // Otherwise the items cannot tell that there was no seal before, or are older than the keybag may be.
            guard items.fault == nil, let known = items.knownKeybag() else { return }
            if record.revision == 0 {
                guard known == 0 else { return }
                try writeKeybag(&record)
            } else if isUnconfirmed {
                try writeKeybag(&record)
            }
            if let counters, record.hardware != nil, record.hardware?.mark == nil {
                record.hardware?.mark = try await counters.makeMark(of: record.storeID)
                try writeKeybag(&record)
            }
        } catch {
            report(.backgroundFailed, detail: "keybag: \(error.cause?.code ?? "")")
        }
        guard let written = standing.record?.revision, let known = items.knownKeybag(), known != written
        else {
            return
        }
        // Items that know of a keybag which a power failure takes away would refuse the former one.
        guard !isUnconfirmed, (try? file.sync()) != nil else { return }
        await items.countOn(keybag: written)
    }

    /// Writes both files again if one of them did not hold the keybag that was opened, and no write has replaced them since.
    private func completeFiles(_ record: KeybagRecord) throws(KeychainError) {
        guard case .apart(let stored, let isFaulty) = fileState else { return }
        // The very same bytes: an older copy must not become a newer revision.
        if stored.record.revision == record.revision, !stored.isUnsealed {
            guard try file.replace(with: stored.bytes) else { return }
        }
        fileState = .inStep
        guard isFaulty, !stored.isUnsealed else { return }
        report(.tamperDetected, detail: "keybag: a damaged or missing file was written again")
    }
}
