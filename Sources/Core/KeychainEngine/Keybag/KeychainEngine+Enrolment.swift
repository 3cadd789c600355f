internal import CBOR
public import KeychainModel
internal import Primitives

extension KeychainEngine {
    /// Takes note of the enrolled fingers; the key of a set that is gone is destroyed before this returns.
    public func observe(_ enrolment: Enrolment) async throws(KeychainError) -> EnrolmentObservation {
        await enterKeybag()
        defer { leaveKeybag() }
        let metadata = try context().keys.metadata
        guard var record else { throw standing.refusal }
        guard enrolment.binding != .untold else {
            // Neither the same nor another: that is decided once the templates can be told.
            isCurrentSetUntold = true
            standing.withholdCurrentSet(true)
            return EnrolmentObservation(domainState: nil, changed: false, binding: .untold)
        }
        let (digest, names) = Self.digests(of: enrolment, metadata: metadata, storeID: record.storeID)
        // Seen by its names until now, as in a keychain that was another mode's: the templates are believed once.
        let adopts = digest != names && record.enrolment == names
        // Templates were compared, and cannot be read in this mode: the names are what is left to compare. The templates are
        // remembered, so that who can read them again compares them with those.
        let keepsTemplates =
            enrolment.binding == .names && record.enrolment != names && record.enrolmentNames == names
        // Names alone do not show a finger that was enrolled again: the driver's count does, while it runs.
        let grew = (adopts || enrolment.binding == .names) && enrolment.completions > seenCompletions
        // A set that nobody saw is never taken for the one that is seen now: what is bound to it dies too.
        let changed = record.enrolment != digest && !adopts && !keepsTemplates || grew
        if changed {
            try await destroyCurrentSet(
                of: &record,
                metadata,
                enrolment: digest,
                names: names,
                hasFingers: !enrolment.isEmpty
            )
        } else {
            let former = record
            if !keepsTemplates { record.enrolment = digest }
            record.enrolmentNames = names
            var fresh: Key?
            if record.needsCurrentSetKey, let keybagKey = standing.keybagKey {
                let wrapping = try await wrapping(of: record, keybagKey)
                let key = Key.random()
                KeybagKeys.wrap(key, as: .biometryCurrentSet, in: &record, with: wrapping)
                fresh = key
            }
            if record != former { try writeKeybag(record) }
            if let fresh { standing.setCurrentSetKey(fresh) }
        }
        seenCompletions = enrolment.completions
        // Only now: the key of another set is gone.
        isCurrentSetUntold = false
        standing.withholdCurrentSet(false)
        let stateKey = KeyDerivation.derive("domain state", from: [metadata], salt: record.storeID)
        // By names and epoch, which another set of the same names has too: templates that were believed change no state.
        return EnrolmentObservation(
            domainState: KeyedDigest.of(names + Array("\(record.epoch)".utf8), key: stateKey),
            changed: changed,
            binding: enrolment.binding
        )
    }

    private func destroyCurrentSet(
        of record: inout KeybagRecord,
        _ metadata: Key,
        enrolment: [UInt8],
        names: [UInt8],
        hasFingers: Bool
    ) async throws(KeychainError) {
        // Should the file not be written, no item is opened with the old key all the same.
        standing.setCurrentSetKey(nil)
        escrow = nil
        let isFirst = record.enrolment == nil
        record.endEpoch(metadata: metadata, at: wallClock())
        record.enrolment = enrolment
        record.enrolmentNames = names
        record.hasFingers = hasFingers
        // Hardware first: from here on no copy of the old keybag brings the old key back.
        let epoch = try await nextEpoch(of: &record)
        var fresh: Key?
        if hasFingers, let keybagKey = standing.keybagKey {
            let key = Key.random()
            let wrapping = KeybagKeys.Wrapping(keybagKey: keybagKey, epoch: epoch)
            KeybagKeys.wrap(key, as: .biometryCurrentSet, in: &record, with: wrapping)
            fresh = key
        }
        try writeKeybag(record)
        standing.setCurrentSetKey(fresh)
        report(
            .enrolmentChanged,
            detail: "epoch \(record.epoch)\(isFirst ? ", seen for the first time" : "")"
        )
        let count = invalidateItems()
        await countOn()
        if count > 0 { report(.itemsInvalidated, detail: "\(count)") }
    }

    /// The keyed digests that a set is remembered by: of all that is seen of it, and of what is seen without templates.
    static func digests(
        of enrolment: Enrolment,
        metadata: Key,
        storeID: [UInt8]
    ) -> (whole: [UInt8], names: [UInt8]) {
        (
            digest(of: canonical(enrolment), metadata, storeID),
            digest(of: canonicalNames(enrolment), metadata, storeID)
        )
    }

    private static func digest(of canonical: [UInt8], _ metadata: Key, _ storeID: [UInt8]) -> [UInt8] {
        KeyedDigest.of(
            canonical,
            key: KeyDerivation.derive("enrolment digest", from: [metadata], salt: storeID)
        )
    }

    /// Everything that is seen of the set, in one unambiguous form; a count of this run alone is left out, and no
    /// finger is the same set on every sensor.
    static func canonical(_ enrolment: Enrolment) -> [UInt8] {
        guard !enrolment.isEmpty else { return canonicalNames(enrolment) }
        return canonical(
            device: enrolment.device,
            fingers: enrolment.fingers,
            templateDigest: enrolment.templateDigest
        )
    }

    /// The same of what can be seen without templates.
    private static func canonicalNames(_ enrolment: Enrolment) -> [UInt8] {
        canonical(
            device: enrolment.isEmpty ? "" : enrolment.device,
            fingers: enrolment.fingers,
            templateDigest: nil
        )
    }

    private static func canonical(
        device: String,
        fingers: [String],
        templateDigest: [UInt8]?
    ) -> [UInt8] {
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: 3)
        writer.write(text: device)
        writer.writeArrayHead(count: fingers.count)
        for finger in fingers { writer.write(text: finger) }
        if let digest = templateDigest { writer.write(bytes: digest) } else { writer.writeNull() }
        return writer.finish()
    }
}
