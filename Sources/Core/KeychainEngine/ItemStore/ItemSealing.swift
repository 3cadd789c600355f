internal import CBOR
internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// An item in the form stored in its row.
struct SealedItem {
    let row: Int64
    let reference: [UInt8]
    let digests: LookupDigests
    let generation: UInt64
    let attributes: [UInt8]
    /// Nil if the item was bound to an enrolled set that was replaced.
    let keys: [UInt8]?
    let data: [UInt8]?
    /// The attributes' map as returned to callers.
    let map: ArraySlice<UInt8>
    /// The private keys that are deleted with it.
    var held = HeldKeys.none
    /// When it ends (``AttributeKey/ends``); nil for never.
    var ends: Int64?
}

/// Seals new items, on any thread.
struct ItemSealing {
    let context: ItemContext
    let rows: RowNumbers
    let wallClock: @Sendable () -> Int64

    func seal(
        _ item: borrowing NewItem,
        _ group: AccessGroup,
        _ password: Key?
    ) throws(KeychainError) -> SealedItem {
        var content = ItemContent(
            itemClass: item.itemClass,
            group: group.name,
            attributes: item.attributes,
            accessControl: item.accessControl,
            created: wallClock()
        )
        try content.hold(item.attributes[.namedKeys], data: item.data, in: context)
        return try content.sealed(
            row: rows.take(),
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
    /// Without the attributes that the store derives (``ItemContent/ownKeys``).
    var attributes: ItemAttributes
    var accessControl: AccessControl
    var created: Int64
    var modified: Int64
    var generation: UInt64
    /// What compares its secret without opening it; nil for nothing.
    var mark: SecretMark?
    /// The private keys that are deleted with it.
    var held = HeldKeys.none

    /// The attributes derived by the store.
    static let ownKeys: [AttributeKey] = [
        .accessGroup, .accessible, .accessControl, .creationDate, .modificationDate, .itemClass, .secretMark,
        .namedKeys, .heldKeys,
    ]

    /// Writes the attributes as returned to callers, including the derived ones, as a map.
    func write(to writer: inout CBORWriter<[UInt8]>) {
        var all = ItemAttributes(minimumCapacity: attributes.count + 8)
        all.merge(attributes) { $1 }
        if !accessControl.flags.isEmpty { all[.accessControl] = .data(accessControl.encoded) }
        all[.accessGroup] = .string(group)
        all[.creationDate] = .date(created)
        all[.modificationDate] = .date(modified)
        all[.accessible] = .string(accessControl.accessibility.rawValue)
        all[.synchronizable] = .boolean(isSynchronizable)
        all[.itemClass] = .string(itemClass.rawValue)
        all[.secretMark] = mark.map { .data($0.octets) }
        if held != .none { all[.heldKeys] = .data(held.octets) }
        writer.write(all)
    }

    /// When it ends (``AttributeKey/ends``); nil for never.
    var ends: Int64? {
        if case .date(let time) = attributes[.ends] { time } else { nil }
    }

    var isSynchronizable: Bool { attributes[.synchronizable].map { !$0.isBlank } ?? false }

    /// More bytes than any stored attributes have: earlier versions let an update add to those of an item.
    private static let mostReadOctets = 1 << 22

    /// Reads back what ``write(to:)`` wrote.
    init(_ opened: OpenedHeader) throws(KeychainError) {
        guard let itemClass = opened.itemClass, let accessControl = opened.accessControl else {
            throw .damaged
        }
        var attributes = ItemAttributes()
        var created: Int64?
        var modified: Int64?
        var mark: SecretMark?
        var held = HeldKeys.none
        do {
            var limits = CBORLimits()
            limits.octets = Self.mostReadOctets
            try unsafe CBORReader.read(opened.attributes, limits: limits) { reader in
                try reader.readAttributes { key, value in
                    switch (key, value) {
                    case (.creationDate, .date(let time)): created = time
                    case (.modificationDate, .date(let time)): modified = time
                    case (.secretMark, .data(let octets)): mark = SecretMark(octets)
                    case (.heldKeys, .data(let octets)): held = HeldKeys(stored: octets)
                    // Written with each item, and the same as none.
                    case (.synchronizable, .boolean(false)): break
                    default: if !Self.ownKeys.contains(key) { attributes[key] = value }
                    }
                }
            }
        } catch {
            throw .damaged
        }
        guard let created, let modified else { throw .damaged }
        self.attributes = attributes
        self.itemClass = itemClass
        self.accessControl = accessControl
        group = unsafe String(decoding: opened.group, as: UTF8.self)
        self.created = created
        self.modified = modified
        self.mark = mark
        self.held = held
        generation = opened.generation
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
        for key in Self.ownKeys { self.attributes[key] = nil }
    }

    /// The random bytes of a sealed item: its reference, a nonce for each of its three parts, and its key.
    private static let randomByteCount =
        ItemReference.randomByteCount + 3 * AEAD.nonceByteCount + Key.byteCount

    /// Seals the item under a new key; makes a reference and digests if none are given.
    ///
    /// - Throws: ``KeychainError`` with `errSecDataTooLarge` if attributes and data together have more than `byteCount`
    ///   bytes: a frame would have no room for them.
    func sealed(
        row: Int64,
        reference: [UInt8]? = nil,
        digests: LookupDigests? = nil,
        data: borrowing SecretBytes?,
        password: Key?,
        atMost byteCount: Int = ItemLimits.longestItem,
        in context: ItemContext
    ) throws(KeychainError) -> SealedItem {
        if isSynchronizable, !accessControl.flags.isEmpty { throw KeychainError(.param) }
        let metadata = context.metadata
        var random = RandomSupply(count: Self.randomByteCount)
        let reference =
            if let reference { reference } else { ItemReference.make(row, context.lookup, &random) }
        let digests = if let digests { digests } else { try makeDigests(in: context) }
        let header = ItemHeader(
            generation: generation,
            epoch: accessControl.flags.contains(.biometryCurrentSet) ? context.epoch : 0,
            itemClass: itemClass,
            accessControl: accessControl,
            group: group,
            digests: digests
        ).encoded()
        let itemKey = Key(from: &random)
        let keys = try ItemKeyWrap.wrap(
            itemKey,
            for: accessControl,
            in: context,
            password: password,
            authenticating: context.binding(of: .key, reference, header),
            &random
        )
        let sealedData: [UInt8]?
        switch data {
        case .some(let octets):
            let binding = context.binding(of: .data, reference, header)
            sealedData = unsafe octets.withUnsafeBytes {
                unsafe AEAD.seal($0, with: itemKey.symmetric, authenticating: binding, &random)
            }
        case .none: sealedData = nil
        }
        var octets: [UInt8] = []
        octets.reserveCapacity(header.count + 256)
        octets += header
        if let sealedData {
            unsafe sealedData.withUnsafeBytes { unsafe DataDigest(ofSealed: $0) }.append(to: &octets)
        }
        let start = octets.count
        var writer = CBORWriter(consume octets)
        write(to: &writer)
        let opened = writer.finish()
        guard opened.count - start + data.octetCount <= byteCount else { throw KeychainError(.dataTooLarge) }
        let attributes = unsafe opened.withUnsafeBytes { opened in
            let binding = context.binding(of: .attributes, reference)
            return unsafe AEAD.seal(opened, with: metadata, authenticating: binding, &random)
        }
        return SealedItem(
            row: row,
            reference: reference,
            digests: digests,
            generation: generation,
            attributes: attributes,
            keys: keys,
            data: sealedData,
            map: opened[start...],
            held: held,
            ends: ends
        )
    }

    func makeDigests(in context: ItemContext) throws(KeychainError) -> LookupDigests {
        var normal = attributes
        // Missing and false have the same digest.
        if normal[.synchronizable] != nil { normal[.synchronizable] = .boolean(isSynchronizable) }
        return context.lookup.digests(of: normal, itemClass: itemClass, group: group)
    }
}

extension AttributeKey {
    /// `kSecClass`, which Apple returns among the attributes.
    static let itemClass = AttributeKey(rawValue: "class")
}
