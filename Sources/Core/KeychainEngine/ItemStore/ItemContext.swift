internal import KeychainModel
internal import Primitives

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

    /// Seals attributes.
    let metadata: AEADKey
    /// Digests attributes for look-ups.
    let lookup: LookupDigester
    /// Digests the set of items.
    let itemSet: KeyedDigest
    /// Seals the record of the set.
    let setRecord: AEADKey

    private let classKeys: [KeybagKeyName: AEADKey]
    private let attributesLabel: [UInt8]
    private let keyLabel: [UInt8]
    private let dataLabel: [UInt8]

    /// Makes the keys of an open keybag ready.
    init(of record: KeybagRecord, _ keys: KeyRing) {
        storeID = record.storeID
        self.keys = keys
        epoch = record.epoch
        epochEnds = EpochEnds(of: record, metadata: keys.metadata)
        passcodePublicKey = record.passcodePublicKey
        metadata = keys.metadata.symmetric
        lookup = LookupDigester(key: keys.lookup)
        itemSet = KeyedDigest(keys.itemSet)
        setRecord = keys.itemSet.symmetric
        let pairs = KeybagKeyName.classKeys.compactMap { name in keys[name].map { (name, $0.symmetric) } }
        classKeys = Dictionary(uniqueKeysWithValues: pairs)
        attributesLabel = Self.attributesText + storeID
        keyLabel = Self.keyText + storeID
        dataLabel = Self.dataText + storeID
    }

    /// Wraps the keys of items that need nothing but an unlocked keybag.
    func classKey(_ accessibility: Accessibility) throws(KeychainError) -> AEADKey {
        guard let key = classKeys[KeybagKeyName(accessibility.classKey)] else { throw .locked }
        return key
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
