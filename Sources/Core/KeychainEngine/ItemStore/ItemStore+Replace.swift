internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// An item that takes the place of all items that a search finds.
final class ItemSwap {
    let search: ItemSearch
    let new: Box<ReplacingItem>
    let group: AccessGroup
    let password: Key?
    let time: Int64

    init(search: ItemSearch, new: Box<ReplacingItem>, group: AccessGroup, password: Key?, time: Int64) {
        self.search = search
        self.new = new
        self.group = group
        self.password = password
        self.time = time
    }

    /// The new item before it is sealed, as one that never existed.
    fileprivate var content: ItemContent {
        ItemContent(
            itemClass: new.value.item.itemClass,
            group: group.name,
            attributes: new.value.item.attributes,
            accessControl: new.value.item.accessControl,
            created: time
        )
    }
}

/// A deletion of the items that a search finds and that have a secret, part by part.
final class ItemErasure {
    /// What was compared so far.
    struct Part {
        var progress = ItemDeletion.Progress()
        var outcome = Erasure()
    }

    let search: ItemSearch
    let secret: Box<SecretBytes>
    /// All parts that are durable.
    var done = Part()

    init(search: ItemSearch, secret: Box<SecretBytes>) {
        self.search = search
        self.secret = secret
    }
}

/// Replaces and deletes items without opening them.
extension ItemStore {
    /// A row that the new item takes over.
    private struct Place {
        let old: OldRow
        let reference: [UInt8]
        let digests: [UInt8]
        let content: ItemContent
        /// Whether it holds the new item already.
        let isSame: Bool
    }

    func run(_ swap: ItemSwap, _ context: ItemContext) throws -> Replacement {
        let found = try findIfAny(swap.search, context)
        let place = try found.valid.first.flatMap { try self.place($0, for: swap, context) }
        let others = (place == nil ? found.valid : Array(found.valid.dropFirst())) + found.invalidated
        if let place, place.isSame, others.isEmpty { return .unchanged }
        // Sealed before anything is removed: sealing refuses what cannot be stored.
        var content = swap.content
        if let place {
            content.created = place.content.created
            content.generation = place.content.generation + 1
        }
        content.mark = SecretMark.make(of: swap.new.value.item.data, comparedBy: swap.new.value.mark, context)
        let attributes = swap.new.value.item.attributes
        try content.hold(attributes[.namedKeys], data: swap.new.value.item.data, in: context)
        let item = try content.sealed(
            row: place?.old.id ?? rows.take(),
            reference: place?.reference,
            data: swap.new.value.item.data,
            password: swap.password,
            in: context
        )
        if place == nil { try limits.check(items: itemSet.tags.count - others.count + 1) }
        try check(item.held, context)
        for row in others { try remove(row, keeping: item.held, context) }
        if let place {
            let isFoundElsewhere = place.digests != item.digests.octets
            try change(place.old, to: item, isFoundElsewhere: isFoundElsewhere, context)
            hasRemovedProtected = hasRemovedProtected || place.old.isProtected
        } else {
            try makeRoom(for: item, besides: nil, context)
            try insert(item, context)
        }
        return place == nil && others.isEmpty ? .added : .replaced
    }

    /// Compares the next items of an erasure, and deletes those that have its secret.
    func run(_ erasure: ItemErasure, _ context: ItemContext) throws -> ItemErasure.Part {
        var part = erasure.done
        let found = try nextItems(of: erasure.search, after: &part.progress, context)
        for old in found.valid + found.invalidated {
            let mark = try content(of: old.id, context) { content, _, _ in content.mark }
            switch mark?.compare(erasure.secret.value, context) ?? .unknown {
            case .same:
                try remove(old, context)
                part.outcome.deleted += 1
            case .different: part.outcome.different += 1
            case .unknown: part.outcome.unknown += 1
            }
        }
        return part
    }

    private func findIfAny(_ search: ItemSearch, _ context: ItemContext) throws -> Found {
        do {
            return try find(search, authorization: nil, context)
        } catch let error as KeychainError where error.status == .itemNotFound {
            return Found()
        }
    }

    /// The row for the new item; nil if the found item is of another class or group.
    private func place(_ old: OldRow, for swap: ItemSwap, _ context: ItemContext) throws -> Place? {
        try content(of: old.id, context) { former, row, header in
            guard former.itemClass == swap.new.value.item.itemClass, former.group == swap.group.name else {
                return nil
            }
            return Place(
                old: old,
                reference: unsafe Array(row.reference),
                digests: unsafe Array(header.digests),
                content: former,
                isSame: try isSame(former, row, header, swap, context)
            )
        }
    }

    private func isSame(
        _ former: ItemContent,
        _ row: ItemRow,
        _ header: OpenedHeader,
        _ swap: ItemSwap,
        _ context: ItemContext
    ) throws -> Bool {
        guard swap.new.value.keepsSame, let mark = former.mark,
            header.accessControl(atEpoch: context.epoch) == swap.new.value.item.accessControl,
            Self.comparable(former) == Self.comparable(swap.content),
            unsafe (row.data != nil) == (swap.new.value.item.data != nil)
        else { return false }
        return mark.isOf(swap.new.value.item.data, comparedBy: swap.new.value.mark, context)
    }

    /// The attributes of an item, whether it was stored or not: synchronizable is stored as false if it is missing.
    static func comparable(_ content: ItemContent) -> ItemAttributes {
        var attributes = content.attributes
        attributes[.synchronizable] = .boolean(content.isSynchronizable)
        return attributes
    }

    /// Reads a found row's attributes.
    private func content<R>(
        of id: Int64,
        _ context: ItemContext,
        _ body: (ItemContent, ItemRow, OpenedHeader) throws -> R?
    ) throws -> R? {
        var result: R?
        try ItemRow.forRow(id, database) { row in
            try row.open(in: context) { header in result = try body(ItemContent(header), row, header) }
        }
        return result
    }
}
