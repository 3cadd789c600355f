internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// The private keys that are deleted with an item, by their ids.
///
/// They are among the item's sealed attributes, so that a deletion needs neither the item's data nor their key. Only a
/// representation of the item's own group names a key: nobody can end a key of a group whose items he may not delete.
struct HeldKeys: Equatable {
    static let none = HeldKeys(ids: [])

    /// ``PrivateKeyRecord/id`` of each.
    let ids: [[UInt8]]

    private init(ids: [[UInt8]]) { self.ids = ids }

    /// The stored form: the ids, one after another.
    var octets: [UInt8] { Array(ids.joined()) }

    /// Reads the stored form.
    init(stored octets: [UInt8]) {
        let count = PrivateKeyRecord.idByteCount
        let starts = stride(from: 0, through: octets.count - count, by: count)
        ids = starts.map { Array(octets[$0..<($0 + count)]) }
    }

    /// The keys that an item's writer names.
    ///
    /// - Throws: ``KeychainError`` with `errSecParam` for another value, `errSecDecode` for a representation that is not of
    ///   this keychain or belongs to another group.
    init(named value: AttributeValue, group: String, in context: ItemContext) throws(KeychainError) {
        guard let representations = value.namedKeys else { throw KeychainError(.param) }
        var ids: [[UInt8]] = []
        for representation in representations {
            let record = try PrivateKeyRecord(representation, in: context)
            guard record.group == AccessGroup(group) else { throw KeychainError(.decode, cause: .otherGroup) }
            ids.append(record.id)
        }
        self.ids = ids
    }

    /// The key that is an item's data; none if the data are no key, or one of another group.
    init(in data: borrowing SecretBytes?, group: String, _ context: ItemContext) {
        var representation: [UInt8] = []
        unsafe data.lend { unsafe representation = Array($0) }
        guard let record = try? PrivateKeyRecord(representation, in: context),
            record.group == AccessGroup(group)
        else {
            self = .none
            return
        }
        ids = [record.id]
    }

    /// The keys of a stored item, which was read with its data.
    ///
    /// An item of an earlier version does not say which key its data are, so these are opened.
    /// - Throws: ``KeychainError`` with the cause ``DriverCause/locked`` while that needs the passcode.
    init(of row: ItemRow, _ header: OpenedHeader, _ context: ItemContext) throws(KeychainError) {
        if let stored = unsafe AttributeMatch.data(of: .heldKeys, in: header.attributes) {
            self.init(stored: stored)
            return
        }
        self = .none
        guard header.has(.key), unsafe AttributeMatch.has(.tokenID, in: header.attributes),
            let control = header.accessControl, ItemKeyWrap.demands(of: control) == [[]]
        else { return }
        do throws(KeychainError) {
            let data = try row.openData(header, control, proofs: [], password: nil, context)
            self.init(in: data, group: header.groupName, context)
        } catch {
            // What cannot be opened names no key.
            guard error.status == .decode else { throw error }
        }
    }

    func subtracting(_ others: HeldKeys) -> HeldKeys {
        HeldKeys(ids: ids.filter { !others.ids.contains($0) })
    }
}

extension ItemContent {
    /// Notes the keys that the item is to hold: those that its writer names, or the one that is its new data; otherwise those
    /// that it held.
    mutating func hold(
        _ named: AttributeValue?,
        data: borrowing SecretBytes?,
        in context: ItemContext
    ) throws(KeychainError) {
        if let named {
            held = try HeldKeys(named: named, group: group, in: context)
        } else if itemClass == .key, attributes[.tokenID] != nil, data.octetCount > 0 {
            held = HeldKeys(in: data, group: group, context)
        }
    }
}
