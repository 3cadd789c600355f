internal import KeychainModel
internal import Primitives

/// What hardware holds for this keychain although the keybag does not use it: with it, a former passcode could open an older
/// copy of the keybag.
extension Keybag {
    /// Destroys what was made for a record that is surely not on the disk; what cannot be destroyed now is a leftover.
    func discard(_ blob: [UInt8], _ names: KeybagRecord.HardwareCounters?) async {
        try? await sealer.destroy(blob)
        guard let names else { return }
        for object in names.objects { try? await destroy(object) }
    }

    private func destroy(_ object: KeybagRecord.FormerObject) async throws(KeychainError) {
        if object.kind == .seal { return try await sealer.destroy(object.blob) }
        guard let counters else { throw KeychainError(.decode, cause: .missingHardware, remedy: .check) }
        switch object.kind {
        case .epoch: try await counters.destroyEpoch(object.blob)
        case .generation: try await counters.destroyGeneration(object.blob)
        case .mark: try await counters.destroyMark(object.blob)
        case .seal: break
        }
    }

    /// Destroys all hardware objects of a keychain that a record does not use; by its mark hardware knows the keychain for
    /// good.
    func clearHardware(keeping record: KeybagRecord?, of storeID: [UInt8]) async throws(KeychainError) {
        try await sealer.removeLeftovers(keeping: record?.blob, of: storeID)
        let marks = record?.former.filter { $0.kind == .mark } ?? []
        let used = (record?.hardware?.objects ?? []) + marks
        try await counters?.removeLeftovers(keeping: used.map(\.blob), of: storeID)
    }

    /// Destroys all hardware objects of this keychain that the present record does not use, once that record is durable:
    /// those that it names as former ones, and those that an interrupted operation left.
    ///
    /// A failure is told until a later call succeeds, which a task makes.
    ///
    /// - Parameter keybagKey: seals the record, which then names them no more; nil for the keys in memory.
    func removeLeftovers(keybagKey: Key? = nil) async {
        guard var record else { return }
        do throws(KeychainError) {
            if isUnconfirmed { try writeKeybag(&record, keybagKey: keybagKey) }
            try file.sync()
            try await clearHardware(keeping: record, of: record.storeID)
            var kept: [KeybagRecord.FormerObject] = []
            for object in record.former {
                if record.hardware?.objects.contains(object) == true { continue }
                if object.kind == .mark {
                    kept.append(object)
                    continue
                }
                do throws(KeychainError) {
                    try await destroy(object)
                } catch {
                    // Another chip holds it: it is destroyed if that one is here again.
                    guard error.cause == .otherHardware || error.cause == .missingHardware else {
                        throw error
                    }
                    kept.append(object)
                }
            }
            if record.former != kept {
                record.former = kept
                try writeKeybag(&record, keybagKey: keybagKey)
            }
            if hasLeftovers { report(.formerSealRemoved) }
            hasLeftovers = false
        } catch {
            // A keychain that hardware never knew owes nothing to a chip that does not answer.
            guard record.knowsHardware || !record.former.isEmpty || sealer.isInHardware(record.blob) else {
                return
            }
            if !hasLeftovers { report(.formerSealKept, detail: error.cause?.code ?? "") }
            hasLeftovers = true
            removeLeftoversLater()
        }
    }

    /// Tries again, at first soon and then less and less often, until the hardware and the disk answer.
    private func removeLeftoversLater() {
        guard removal == nil else { return }
        removal = delays.retrying { [weak self] in await self?.removeLeftoversAgain() ?? true }
    }

    /// - Returns: whether nothing is left to remove.
    private func removeLeftoversAgain() async -> Bool {
        await enterKeybag()
        defer { leaveKeybag() }
        if hasLeftovers { await removeLeftovers() }
        if !hasLeftovers { removal = nil }
        return !hasLeftovers
    }

    /// What hardware still owes this keychain, in words for a user; empty if nothing.
    var owedByHardware: [String] {
        var sentences: [String] = []
        if hasLeftovers {
            sentences.append(
                "The TPM has not yet removed the seal of a former passcode, which could open an older copy of the keybag: this is tried again."
            )
        }
        if items.isUncounted {
            sentences.append(
                "The TPM has not yet counted the last deletions, so that an older copy of the store would bring them back: this is tried again."
            )
        }
        return sentences
    }
}

extension KeybagRecord {
    /// Names the hardware objects of a replaced record that this one does not use.
    ///
    /// - Parameters:
    ///   - replaced: the record that this one replaces.
    ///   - hasSeal: whether hardware holds its seal.
    mutating func retire(_ replaced: KeybagRecord, hasSeal: Bool) {
        var objects = hardware == replaced.hardware ? [] : replaced.hardware?.objects ?? []
        if hasSeal, replaced.blob != blob {
            objects.append(FormerObject(kind: .seal, blob: replaced.blob))
        }
        let used = hardware?.objects ?? []
        for object in objects where !used.contains(object) && !former.contains(object) {
            former.append(object)
        }
        // Those of the chips that were left longest ago are forgotten first.
        former = Array(former.suffix(Self.mostFormer))
    }
}
