internal import CBOR
internal import Foundation
internal import KeychainModel
internal import SecretMemory

/// An item as it goes into its row.
struct SealedItem {
    let row: Int64
    let reference: [UInt8]
    let digests: LookupDigests
    let generation: UInt64
    let attributes: [UInt8]
    let keys: [UInt8]
    let data: [UInt8]?
    /// The attributes' map as callers get it.
    let map: [UInt8]
}

/// What new items are sealed with, on any thread.
struct ItemSealing {
    let context: ItemContext
    let rows: RowNumbers
    let wallClock: @Sendable () -> Int64

    func seal(
        _ item: borrowing NewItem,
        _ group: AccessGroup,
        _ password: Key?
    ) throws(KeychainError) -> SealedItem {
        let content = ItemContent(
            itemClass: item.itemClass,
            group: group.name,
            attributes: item.attributes,
            accessControl: item.accessControl,
            created: wallClock()
        )
        let row = rows.take()
        return try content.sealed(
            row: row,
            reference: ItemReference.make(row, try context.lookup),
            data: item.data,
            password: password,
            in: context
        )
    }
}

/// An item before it is sealed.
struct ItemContent {
    var itemClass: ItemClass
    var group: String
    /// Without what the store itself says of an item (``ItemContent/ownKeys``).
    var attributes: ItemAttributes
    var accessControl: AccessControl
    var created: Int64
    var modified: Int64
    var generation: UInt64

    /// The attributes that follow from the rest.
    static let ownKeys: Set<AttributeKey> = [
        .accessGroup, .accessible, .accessControl, .creationDate, .modificationDate, .itemClass,
    ]

    /// The attributes as callers get them, with what the store itself says.
    var map: [UInt8] {
        var pairs: [(key: AttributeKey, value: AttributeValue)] = [
            (.itemClass, .string(itemClass.rawValue)),
            (.accessGroup, .string(group)),
            (.accessible, .string(accessControl.accessibility.rawValue)),
            (.creationDate, .date(created)),
            (.modificationDate, .date(modified)),
            (.synchronizable, .boolean(isSynchronizable)),
        ]
        pairs.reserveCapacity(pairs.count + attributes.count + 1)
        if !accessControl.flags.isEmpty { pairs.append((.accessControl, .data(accessControl.encoded))) }
        for (key, value) in attributes where key != .synchronizable && !Self.ownKeys.contains(key) {
            pairs.append((key, value))
        }
        var writer = CBORWriter(capacity: 256)
        writer.write(pairs: pairs)
        return writer.finish()
    }

    var isSynchronizable: Bool { attributes[.synchronizable].map { !$0.isBlank } ?? false }

    /// Reads back what ``map`` wrote.
    init(_ opened: OpenedHeader) throws(KeychainError) {
        guard let itemClass = opened.itemClass, let accessControl = opened.accessControl else {
            throw .damaged
        }
        do {
            attributes = try unsafe CBORReader.read(opened.attributes) { try $0.readAttributes() }
        } catch {
            throw .damaged
        }
        guard case .date(let created) = attributes[.creationDate],
            case .date(let modified) = attributes[.modificationDate]
        else { throw .damaged }
        self.itemClass = itemClass
        self.accessControl = accessControl
        group = unsafe String(decoding: opened.group, as: UTF8.self)
        self.created = created
        self.modified = modified
        generation = opened.generation
        removeOwnKeys()
    }

    init(
        itemClass: ItemClass,
        group: String,
        attributes: ItemAttributes,
        accessControl: AccessControl,
        created: Int64
    ) {
        self.itemClass = itemClass
        self.group = group
        self.attributes = attributes
        self.accessControl = accessControl
        self.created = created
        modified = created
        generation = 1
        removeOwnKeys()
    }

    private mutating func removeOwnKeys() {
        for key in Self.ownKeys { attributes[key] = nil }
    }

    /// Seals the item under a new key of its own.
    func sealed(
        row: Int64,
        reference: [UInt8],
        data: borrowing SecretBytes?,
        password: Key?,
        in context: ItemContext
    ) throws(KeychainError) -> SealedItem {
        if isSynchronizable, !accessControl.flags.isEmpty { throw KeychainError(.param) }
        let metadata = try context.metadata
        var normal = attributes
        // Missing and false have one digest.
        if normal[.synchronizable] != nil { normal[.synchronizable] = .boolean(isSynchronizable) }
        let digests = try context.lookup.digests(of: normal, itemClass: itemClass, group: group)
        let header = ItemHeader(
            generation: generation,
            epoch: accessControl.flags.contains(.biometryCurrentSet) ? context.epoch : 0,
            itemClass: itemClass,
            accessControl: accessControl,
            group: group,
            digests: digests
        ).encoded()
        let map = map
        let attributes = unsafe (header + map).withUnsafeBytes {
            unsafe AEAD.seal($0, with: metadata, authenticating: context.binding(of: .attributes, reference))
        }
        let itemKey = Key.random()
        let keys = try ItemKeyWrap.wrap(
            itemKey,
            for: accessControl,
            in: context,
            password: password,
            authenticating: context.binding(of: .key, reference, header)
        )
        let sealedData: [UInt8]?
        switch data {
        case .some(let octets):
            let binding = context.binding(of: .data, reference, header)
            sealedData = unsafe octets.withUnsafeBytes {
                unsafe AEAD.seal($0, with: itemKey.symmetric, authenticating: binding)
            }
        case .none: sealedData = nil
        }
        return SealedItem(
            row: row,
            reference: reference,
            digests: digests,
            generation: generation,
            attributes: attributes,
            keys: keys,
            data: sealedData,
            map: map
        )
    }
}

extension AttributeKey {
    /// `kSecClass`, which Apple returns among the attributes.
    static let itemClass = AttributeKey(rawValue: "class")
}
