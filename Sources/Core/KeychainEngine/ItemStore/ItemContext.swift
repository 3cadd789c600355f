internal import KeychainModel

/// What the store needs of the keybag for one operation, with its keys made ready once for many.
///
/// A class, so that handing it on counts one reference and not a dozen.
final class ItemContext: Sendable {
    let storeID: [UInt8]
    let keys: KeyRing
    /// The number of the enrolled set.
    let epoch: UInt64
    /// When former sets were seen to be gone.
    let epochEnds: EpochEnds
    let passcodePublicKey: [UInt8]

    private let preparedMetadata: AEADKey?
    private let preparedLookup: LookupDigester?
    private let preparedItemSet: KeyedDigest?
    private let preparedSetRecord: AEADKey?
    private let classKeys: [KeybagKeyName: AEADKey]
    private let attributesLabel: [UInt8]
    private let keyLabel: [UInt8]
    private let dataLabel: [UInt8]

    init(
        storeID: [UInt8],
        keys: KeyRing,
        epoch: UInt64,
        epochEnds: EpochEnds = EpochEnds(),
        passcodePublicKey: [UInt8]
    ) {
        self.storeID = storeID
        self.keys = keys
        self.epoch = epoch
        self.epochEnds = epochEnds
        self.passcodePublicKey = passcodePublicKey
        preparedMetadata = keys[.metadata]?.symmetric
        preparedLookup = keys[.lookup].map { LookupDigester(key: $0) }
        preparedItemSet = keys[.itemSet].map { KeyedDigest($0) }
        preparedSetRecord = keys[.itemSet]?.symmetric
        let pairs = KeybagKeyName.classKeys.compactMap { name in keys[name].map { (name, $0.symmetric) } }
        classKeys = Dictionary(uniqueKeysWithValues: pairs)
        attributesLabel = Self.attributesText + storeID
        keyLabel = Self.keyText + storeID
        dataLabel = Self.dataText + storeID
    }

    // MARK: Keys made ready

    /// Seals attributes.
    var metadata: AEADKey {
        get throws(KeychainError) { try Self.require(preparedMetadata) }
    }

    /// Digests attributes for look-ups.
    var lookup: LookupDigester {
        get throws(KeychainError) { try Self.require(preparedLookup) }
    }

    /// Digests the set of items.
    var itemSet: KeyedDigest {
        get throws(KeychainError) { try Self.require(preparedItemSet) }
    }

    /// Seals the record of the set.
    var setRecord: AEADKey {
        get throws(KeychainError) { try Self.require(preparedSetRecord) }
    }

    /// Wraps the keys of items that need nothing but an unlocked keybag.
    func classKey(_ accessibility: Accessibility) throws(KeychainError) -> AEADKey {
        try Self.require(classKeys[KeybagKeyName(accessibility.classKey)])
    }

    private static func require<T>(_ prepared: T?) throws(KeychainError) -> T {
        guard let prepared else { throw .locked }
        return prepared
    }

    // MARK: What things are bound to

    /// A part of an item that is sealed for itself.
    enum Part {
        /// Bound to the item's reference.
        case attributes
        /// Bound to the header too: to all that identifies the item and rules its opening.
        case key
        case data
    }

    /// Lends what a part is bound to; `reference` is the 16 bytes that name the item.
    func withBinding<R, E: Error>(
        of part: Part,
        _ reference: UnsafeRawBufferPointer,
        _ header: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        let label =
            switch part {
            case .attributes: attributesLabel
            case .key: keyLabel
            case .data: dataLabel
            }
        let count = label.count + reference.count + header.count
        // On the stack, mostly: done three times for each item read.
        let result = unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) {
            octets -> Result<R, E> in
            unsafe label.withUnsafeBytes { unsafe octets.copyMemory(from: $0) }
            var place = unsafe UnsafeMutableRawBufferPointer(rebasing: octets[label.count...])
            unsafe place.copyMemory(from: reference)
            unsafe place = UnsafeMutableRawBufferPointer(rebasing: place[reference.count...])
            unsafe place.copyMemory(from: header)
            do throws(E) {
                return .success(try unsafe body(UnsafeRawBufferPointer(octets)))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// What a part is bound to.
    func binding(of part: Part, _ reference: [UInt8], _ header: [UInt8] = []) -> [UInt8] {
        unsafe reference.withUnsafeBytes { reference in
            unsafe header.withUnsafeBytes { header in
                unsafe withBinding(of: part, reference, header) { unsafe Array($0) }
            }
        }
    }

    private static let attributesText = Array("touchstone 1 attributes ".utf8)
    private static let keyText = Array("touchstone 1 item key ".utf8)
    private static let dataText = Array("touchstone 1 item data ".utf8)
}
