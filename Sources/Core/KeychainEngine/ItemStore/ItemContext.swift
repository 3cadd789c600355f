internal import KeychainModel
internal import Primitives

/// The parts of an open keybag that the store needs, with keys prepared once for many operations.
///
/// A class, so that passing it on retains one object instead of a dozen.
final class ItemContext: Sendable {
    let storeID: [UInt8]
    let keys: KeyRing
    /// The number of the enrolled set of fingers.
    let epoch: UInt64
    /// When former enrolled sets were found to be replaced.
    let epochEnds: EpochEnds
    let passcodePublicKey: [UInt8]
    /// The salt and cost with which the keys of application passwords are derived.
    let passwordSalt: [UInt8]
    let passwordCost: PasscodeDerivation.Cost

    /// Seals attributes.
    let metadata: AEADKey
    /// Digests attributes for look-ups.
    let lookup: LookupDigester
    /// Digests the set of items.
    let itemSet: KeyedDigest
    /// Seals the record of the set.
    let setRecord: AEADKey
    /// Digests secrets for comparisons without opening them.
    let marks: KeyedDigest

    private let classKeys: [KeybagKeyName: AEADKey]
    private let attributesLabel: [UInt8]
    private let keyLabel: [UInt8]
    private let dataLabel: [UInt8]

    /// Prepares the keys of an open keybag.
    init(of record: KeybagRecord, _ keys: KeyRing) {
        storeID = record.storeID
        self.keys = keys
        epoch = record.epoch
        epochEnds = EpochEnds(of: record, metadata: keys.metadata)
        passcodePublicKey = record.passcodePublicKey
        passwordSalt = KeybagRecord.context("application password", storeID: record.storeID)
        passwordCost = record.cost.isBelowFloor ? record.cost : .applicationPassword
        metadata = keys.metadata.symmetric
        lookup = LookupDigester(key: keys.lookup)
        itemSet = KeyedDigest(keys.itemSet)
        setRecord = keys.itemSet.symmetric
        marks = KeyedDigest(KeyDerivation.derive(.secretMark, from: [keys.metadata], salt: storeID))
        let pairs = KeybagKeyName.classKeys.compactMap { name in keys[name].map { (name, $0.symmetric) } }
        classKeys = Dictionary(uniqueKeysWithValues: pairs)
        attributesLabel = Self.attributesText + storeID
        keyLabel = Self.keyText + storeID
        dataLabel = Self.dataText + storeID
    }

    /// The key that wraps the keys of items without constraints.
    func classKey(_ accessibility: Accessibility) throws(KeychainError) -> AEADKey {
        guard let key = classKeys[KeybagKeyName(accessibility.classKey)] else { throw .locked }
        return key
    }

    // MARK: What things are bound to

    /// A separately sealed part of an item.
    enum Part {
        /// Bound to the item's reference.
        case attributes
        /// Bound to the header as well, which identifies the item and holds its access control.
        case key
        case data
    }

    /// Lends the associated data of a part; `reference` is the item's 16-byte reference.
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
        // Usually on the stack: this happens three times for each item read.
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

    /// The associated data of a part.
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
