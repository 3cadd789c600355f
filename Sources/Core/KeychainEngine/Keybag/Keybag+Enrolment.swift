internal import CBOR
public import KeychainModel
internal import Primitives

extension Keybag {
    /// Observes the enrolled fingers; if the set changed, its key is destroyed before this returns.
    public func observe(_ enrolment: Enrolment) async throws(KeychainError) -> EnrolmentObservation {
        await enterKeybag()
        defer { leaveKeybag() }
        let metadata = try items.keys.context().keys.metadata
        guard var record else { throw standing.refusal }
        guard enrolment.binding != .untold else {
            // Whether the set changed is decided once the templates can be read.
            isCurrentSetUntold = true
            standing.withholdCurrentSet(true)
            return EnrolmentObservation(domainState: nil, changed: false, binding: .untold)
        }
        let (digest, names) = Self.digests(of: enrolment, metadata: metadata, storeID: record.storeID)
        // So far known only without templates, as in a keychain moved from another mode: accept the templates once.
        let adopts = digest != names && record.enrolment == names
        // The known set includes templates, which cannot be read in this mode: compare without them. Keep the digest with
        // templates, so that a mode that can read them again compares with it.
        let keepsTemplates =
            enrolment.binding == .names && record.enrolment != names && record.enrolmentNames == names
        // Without templates, a finger that was enrolled again shows only in the driver's count, while the driver runs.
        let grew = (adopts || enrolment.binding == .names) && enrolment.completions > seenCompletions
        // A set that was never observed always counts as changed: items bound to it are invalidated too.
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
            if record != former {
                try writeKeybag(&record) { if let fresh { $0.setCurrentSetKey(fresh) } }
                await items.countOn(keybag: record.revision)
            }
        }
        seenCompletions = enrolment.completions
        // Only now, because the key of a different set is destroyed.
        isCurrentSetUntold = false
        standing.withholdCurrentSet(false)
        let stateKey = KeyDerivation.derive(.domainState, from: [metadata], salt: record.storeID)
        // By fingers and epoch, which differ for another set of the same fingers; accepting templates changes no state.
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
        // Even if the file cannot be written, the old key must open no more items.
        standing.setCurrentSetKey(nil)
        escrow = nil
        let isFirst = record.enrolment == nil
        record.endEpoch(metadata: metadata, at: wallClock())
        record.enrolment = enrolment
        record.enrolmentNames = names
        record.hasFingers = hasFingers
        // Hardware first: from here on no copy of the old keybag can restore the old key.
        let epoch = try await nextEpoch(of: &record)
        var fresh: Key?
        if hasFingers, let keybagKey = standing.keybagKey {
            let key = Key.random()
            let wrapping = KeybagKeys.Wrapping(keybagKey: keybagKey, epoch: epoch)
            KeybagKeys.wrap(key, as: .biometryCurrentSet, in: &record, with: wrapping)
            fresh = key
        }
        try writeKeybag(&record) { $0.setCurrentSetKey(fresh) }
        report(
            .enrolmentChanged,
            detail: "epoch \(record.epoch)\(isFirst ? ", seen for the first time" : "")"
        )
        let count = items.dropCurrentSet()
        await items.countOn(keybag: record.revision)
        if count > 0 { report(.itemsInvalidated, detail: "\(count)") }
    }

    /// The keyed digests that identify a set: with and without its templates.
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
            key: KeyDerivation.derive(.enrolmentDigest, from: [metadata], salt: storeID)
        )
    }

    /// All observed properties of the set in an unambiguous encoding, without the count of this run.
    ///
    /// A set without fingers is the same on every sensor.
    static func canonical(_ enrolment: Enrolment) -> [UInt8] {
        guard !enrolment.isEmpty else { return canonicalNames(enrolment) }
        return canonical(
            device: enrolment.device,
            fingers: enrolment.fingers,
            templateDigest: enrolment.templateDigest
        )
    }

    /// The same without templates.
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
