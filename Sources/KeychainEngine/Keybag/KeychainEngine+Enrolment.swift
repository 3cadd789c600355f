internal import CBOR
public import KeychainModel

extension KeychainEngine {
    /// Takes note of the enrolled fingers; the key of a set that is gone is destroyed before this returns.
    public func observe(_ enrolment: Enrolment) async throws(KeychainError) -> EnrolmentObservation {
        await enterKeybag()
        defer { leaveKeybag() }
        guard var record else { throw isKeybagDamaged ? .damaged : .notSetUp }
        let metadata = try keys.require(.metadata)
        let digest = KeyedDigest.of(
            Self.canonical(enrolment),
            key: KeyDerivation.derive("enrolment digest", from: [metadata], salt: record.storeID)
        )
        // Names alone do not show a finger that was enrolled again: the driver's count does, while it runs.
        let grew = enrolment.binding == .names && enrolment.completions > seenCompletions
        let isFirst = record.enrolment == nil
        let changed = !isFirst && (record.enrolment != digest || grew)
        if isFirst {
            record.enrolment = digest
            try writeKeybag(record)
        } else if changed {
            try await destroyCurrentSet(of: &record, enrolment: digest)
        }
        seenCompletions = enrolment.completions
        let stateKey = KeyDerivation.derive("domain state", from: [metadata], salt: record.storeID)
        return EnrolmentObservation(
            domainState: KeyedDigest.of(digest + Array("\(record.epoch)".utf8), key: stateKey),
            changed: changed,
            binding: enrolment.binding
        )
    }

    private func destroyCurrentSet(
        of record: inout KeybagRecord,
        enrolment: [UInt8]
    ) async throws(KeychainError) {
        // Should the file not be written, no item is opened with the old key all the same.
        keys[.biometryCurrentSet] = nil
        escrow = nil
        record.epoch += 1
        record.enrolment = enrolment
        record.keys[KeybagKeyName.biometryCurrentSet.rawValue] = nil
        // Hardware first: from here on no copy of the old keybag brings the old key back.
        let epoch = try await nextEpoch(of: &record)
        var fresh: Key?
        if let keybagKey = keys.keybagKey {
            let key = Key.random()
            let wrapping = KeybagKeys.Wrapping(keybagKey: keybagKey, epoch: epoch)
            KeybagKeys.wrap(key, as: .biometryCurrentSet, in: &record, with: wrapping)
            fresh = key
        }
        try writeKeybag(record)
        keys[.biometryCurrentSet] = fresh
        report(.enrolmentChanged, detail: "epoch \(record.epoch)")
        let count = invalidateItems()
        await countOn()
        if count > 0 { report(.itemsInvalidated, detail: "\(count)") }
    }

    /// Everything that is seen of the set, in one unambiguous form; a count of this run alone is left out.
    static func canonical(_ enrolment: Enrolment) -> [UInt8] {
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: 3)
        writer.write(text: enrolment.device)
        writer.writeArrayHead(count: enrolment.fingers.count)
        for finger in enrolment.fingers { writer.write(text: finger) }
        if let digest = enrolment.templateDigest { writer.write(bytes: digest) } else { writer.writeNull() }
        return writer.finish()
    }
}
