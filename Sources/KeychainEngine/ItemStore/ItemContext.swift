internal import KeychainModel

/// What the store needs of the keybag for one operation.
struct ItemContext {
    let storeID: [UInt8]
    let keys: KeyRing
    /// The number of the enrolled set.
    let epoch: UInt64
    let passcodePublicKey: [UInt8]

    /// What an item's attributes are bound to; `reference` is the 16 octets that name the item.
    static func attributes(storeID: [UInt8], reference: some Sequence<UInt8>) -> [UInt8] {
        Array("touchstone 1 attributes ".utf8) + storeID + reference
    }

    /// What an item's key and data are bound to: all that identifies the item and rules its opening.
    static func content(
        _ purpose: String,
        storeID: [UInt8],
        reference: some Sequence<UInt8>,
        header: some Sequence<UInt8>
    ) -> [UInt8] {
        Array("touchstone 1 item \(purpose) ".utf8) + storeID + reference + header
    }
}
