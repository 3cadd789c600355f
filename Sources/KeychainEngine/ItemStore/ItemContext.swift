internal import Foundation
internal import KeychainModel

/// What the store needs of the keybag for one operation.
struct ItemContext {
    let storeID: [UInt8]
    let keys: KeyRing
    /// The number of the enrolled set.
    let epoch: UInt64
    let passcodePublicKey: [UInt8]

    private let attributesLabel: [UInt8]
    private let keyLabel: [UInt8]
    private let dataLabel: [UInt8]

    init(storeID: [UInt8], keys: KeyRing, epoch: UInt64, passcodePublicKey: [UInt8]) {
        self.storeID = storeID
        self.keys = keys
        self.epoch = epoch
        self.passcodePublicKey = passcodePublicKey
        attributesLabel = Self.attributesText + storeID
        keyLabel = Self.keyText + storeID
        dataLabel = Self.dataText + storeID
    }

    /// What an item's attributes are bound to; `reference` is the 16 octets that name the item.
    func attributes(_ reference: Data) -> [UInt8] {
        unsafe join(attributesLabel, reference, UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// What an item's key is bound to: all that identifies the item and rules its opening.
    func key(_ reference: Data, _ header: UnsafeRawBufferPointer) -> [UInt8] {
        unsafe join(keyLabel, reference, header)
    }

    /// What an item's data are bound to, as its key is.
    func data(_ reference: Data, _ header: UnsafeRawBufferPointer) -> [UInt8] {
        unsafe join(dataLabel, reference, header)
    }

    private static let attributesText = Array("touchstone 1 attributes ".utf8)
    private static let keyText = Array("touchstone 1 item key ".utf8)
    private static let dataText = Array("touchstone 1 item data ".utf8)

    /// Label, reference and header in one piece, with a single allocation: done three times for each item read.
    private func join(_ label: [UInt8], _ reference: Data, _ header: UnsafeRawBufferPointer) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: label.count + reference.count + header.count) {
            buffer,
            count in
            let octets = UnsafeMutableRawBufferPointer(buffer)
            unsafe label.withUnsafeBytes { unsafe octets.copyMemory(from: $0) }
            count = label.count
            let place = unsafe UnsafeMutableRawBufferPointer(rebasing: octets[count...])
            unsafe reference.withUnsafeBytes { (reference: UnsafeRawBufferPointer) in
                unsafe place.copyMemory(from: reference)
            }
            count += reference.count
            unsafe UnsafeMutableRawBufferPointer(rebasing: octets[count...]).copyMemory(from: header)
            count += header.count
        }
    }
}
