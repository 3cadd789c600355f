internal import CBOR
internal import KeychainModel
internal import Primitives

/// When former epochs of the enrolled set ended: the day on which items of theirs died.
///
/// In the keybag it is a CBOR map from an epoch to microseconds since 1970, sealed under a key of its own.
struct EpochEnds: Equatable {
    /// The ends that are remembered; the oldest are forgotten first.
    private static let most = 64
    /// The longest sealed form, in bytes.
    static let longestSealed = 2048

    private(set) var times: [UInt64: Int64] = [:]

    /// When an epoch ended; nil when that is not known.
    subscript(_ epoch: UInt64) -> Int64? { times[epoch] }

    /// Notes the end of an epoch.
    mutating func end(_ epoch: UInt64, at time: Int64) {
        times[epoch] = time
        while times.count > Self.most, let oldest = times.keys.min() { times[oldest] = nil }
    }

    /// None is known.
    init() {}

    /// Opens what a record holds; what is not authentic is as good as forgotten, since it rules nothing.
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

    /// The form that goes into a record.
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

    private static let name = "epoch ends"

    private static func key(of record: KeybagRecord, _ metadata: Key) -> AEADKey {
        KeyDerivation.derive(name, from: [metadata], salt: record.storeID).symmetric
    }
}

extension KeybagRecord {
    /// Whether a change came while the keybag was locked, and left the set that was seen without its key.
    var needsCurrentSetKey: Bool {
        enrolment != nil && hasFingers && keys[KeybagKeyName.biometryCurrentSet.rawValue] == nil
    }

    /// Begins the next epoch of the enrolled set: there is no key for the current set any more.
    ///
    /// - Parameters:
    ///   - metadata: the keybag's metadata key; without it the time is not noted.
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
