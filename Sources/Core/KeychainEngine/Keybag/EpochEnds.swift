internal import CBOR
internal import KeychainModel
internal import Primitives

/// The end times of former epochs of the enrolled set, at which items bound to them were invalidated.
///
/// In the keybag they are a CBOR map from the epoch to microseconds since 1970, sealed under a key of its own.
struct EpochEnds: Equatable {
    /// The most end times kept; the oldest are forgotten first.
    private static let most = 64
    /// The longest sealed form, in bytes.
    static let longestSealed = 2048

    private(set) var times: [UInt64: Int64] = [:]

    /// When an epoch ended; nil if that is unknown.
    subscript(_ epoch: UInt64) -> Int64? { times[epoch] }

    /// Records the end of an epoch.
    mutating func end(_ epoch: UInt64, at time: Int64) {
        times[epoch] = time
        while times.count > Self.most, let oldest = times.keys.min() { times[oldest] = nil }
    }

    /// Creates an empty map.
    init() {}

    /// Opens the map of a record; a map that is not authentic counts as empty, since nothing depends on it.
    init(of record: KeybagRecord, metadata: Key?) {
        guard let metadata, !record.epochEnds.isEmpty else { return }
        let opened = try? unsafe AEAD.open(
            record.epochEnds,
            with: Self.key(of: record, metadata),
            authenticating: record.context(Self.name)
        ) { octets in
            try CBORReader.read(unsafe Array(octets)) { reader in
                var times: [UInt64: Int64] = [:]
                for _ in 0..<min(try reader.readMapHead(), Self.most) {
                    let epoch = try reader.readUnsigned()
                    times[epoch] = try reader.readInteger()
                }
                return times
            }
        }
        times = opened ?? [:]
    }

    /// The sealed form for a record.
    func sealed(for record: KeybagRecord, metadata: Key) -> [UInt8] {
        var writer = CBORWriter([UInt8]())
        writer.writeMapHead(count: times.count)
        for (epoch, time) in times.sorted(by: { $0.key < $1.key }) {
            writer.write(unsigned: epoch)
            writer.write(time)
        }
        let octets = writer.finish()
        return unsafe octets.withUnsafeBytes {
            unsafe AEAD.seal(
                $0,
                with: Self.key(of: record, metadata),
                authenticating: record.context(Self.name)
            )
        }
    }

    static let name = "epoch ends"

    private static func key(of record: KeybagRecord, _ metadata: Key) -> AEADKey {
        KeyDerivation.derive(.epochEnds, from: [metadata], salt: record.storeID).symmetric
    }
}

extension KeybagRecord {
    /// Whether the enrolled set was replaced while the keybag was locked, so that the new set has no key yet.
    var needsCurrentSetKey: Bool {
        enrolment != nil && hasFingers && keys[KeybagKeyName.biometryCurrentSet.rawValue] == nil
    }

    /// Begins the next epoch of the enrolled set; the current set has no key afterwards.
    ///
    /// - Parameters:
    ///   - metadata: the keybag's metadata key; without it the end time is not recorded.
    ///   - time: microseconds since 1970.
    mutating func endEpoch(metadata: Key?, at time: Int64) {
        keys[KeybagKeyName.biometryCurrentSet.rawValue] = nil
        if let metadata {
            var ends = EpochEnds(of: self, metadata: metadata)
            ends.end(epoch, at: time)
            epochEnds = ends.sealed(for: self, metadata: metadata)
        }
        epoch += 1
    }
}
