internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// Items of an export on their way into the store, part by part.
final class ItemMerge {
    /// The most items of a part.
    static let mostItems = ExportItems.most
    /// The bytes of an export after which a part ends.
    static let mostOctets = 4 << 20

    /// What was done so far, and the items of the last part.
    struct Part {
        /// Behind the last item.
        var reader: ExportReader
        var items: [ExportedItem] = []
        var isUnfinished = true
        var hasChanged = false
    }

    let names: Set<String>
    let conflicts: ExportMerge.Conflicts
    /// Opens items that need the passcode, to compare them.
    let passcodeKey: PasscodeKey
    /// All parts that are durable.
    var done: Part

    init(_ reader: ExportReader, _ merge: ExportMerge, _ passcodeKey: PasscodeKey) {
        names = Set(merge.names)
        conflicts = merge.conflicts
        self.passcodeKey = passcodeKey
        done = Part(reader: reader)
    }

    /// The most bytes of the export that the next part stores.
    var mostOctetsNext: Int { min(done.reader.octetsLeft, Self.mostOctets + ExportSeal.longestRecord) }
}

/// Merges an export, with one commit for each part.
final class MergingExport: ExportWork {
    private let items: SealedItems
    private let merge: Guarded<ItemMerge>

    fileprivate init(_ merge: sending ItemMerge, into items: SealedItems) {
        self.merge = Guarded(merge)
        self.items = items
    }

    func next() async throws(KeychainError) -> [ExportedItem]? {
        let part = try merge.withLock { merge throws(KeychainError) -> [ExportedItem]? in
            guard merge.done.isUnfinished else { return nil }
            guard case .merged(let part) = try items.commit(.merge(merge)).outcome else {
                throw KeychainError(.internalComponent)
            }
            merge.done = part
            part.reader.noteProgress()
            return part.items
        }
        guard let part else {
            await items.settle()
            return nil
        }
        for item in part where item.outcome == .added { items.knownGroups.note(item.group) }
        items.giveWay()
        return part
    }
}

extension SealedItems {
    func merging(_ reader: ExportReader, _ merge: ExportMerge, _ key: PasscodeKey) -> any ExportWork {
        MergingExport(ItemMerge(reader, merge, key), into: self)
    }
}

extension ItemStore {
    /// An item of the store in the place of one of an export.
    private struct Place {
        let old: OldRow
        let reference: [UInt8]
        let generation: UInt64
        /// Whether it is the same item.
        let isSame: Bool
    }

    /// Merges the next items of an export.
    func run(_ merge: ItemMerge, _ context: ItemContext) throws -> ItemMerge.Part {
        var part = merge.done
        part.items = []
        part.hasChanged = false
        let slice = WorkSlice()
        repeat {
            switch try part.reader.next() {
            case .end:
                part.isUnfinished = false
                return part
            case .item(let content, let data):
                guard merge.names.isEmpty || merge.names.contains(content.name) else { continue }
                let item = try store(content, data, merge, context)
                part.hasChanged = part.hasChanged || ![.same, .kept].contains(item.outcome)
                part.items.append(item)
            }
        } while slice.goesOn && part.items.count < ItemMerge.mostItems
            && merge.done.reader.octetsLeft - part.reader.octetsLeft < ItemMerge.mostOctets
        return part
    }

    /// Stores an item unless there is one in its place, or as the merge says.
    private func store(
        _ content: ItemContent,
        _ data: borrowing SecretBytes?,
        _ merge: ItemMerge,
        _ context: ItemContext
    ) throws -> ExportedItem {
        guard let place = try place(of: content, data, merge, context) else {
            try add(content, data, context)
            return content.told(.added)
        }
        guard !place.isSame else { return content.told(.same) }
        switch merge.conflicts {
        case .keep: return content.told(.kept)
        case .replace:
            try replace(place, with: content, data, context)
            return content.told(.replaced)
        case .both: break
        }
        for number in 1...ItemContent.mostNamesBesides {
            guard let renamed = content.renamed(number) else { break }
            guard let taken = try self.place(of: renamed, data, merge, context) else {
                try add(renamed, data, context)
                return content.told(.besides, as: renamed.name)
            }
            // An earlier merge added it.
            if taken.isSame { return content.told(.same) }
        }
        return content.told(.kept)
    }

    private func add(_ content: ItemContent, _ data: borrowing SecretBytes?, _ context: ItemContext) throws {
        try limits.check(items: itemSet.tags.count + 1)
        let item = try sealed(content, data, row: rows.take(), reference: nil, context)
        try makeRoom(for: item, besides: nil, context)
        try insert(item, context)
    }

    private func replace(
        _ place: Place,
        with content: ItemContent,
        _ data: borrowing SecretBytes?,
        _ context: ItemContext
    ) throws {
        var content = content
        content.generation = place.generation + 1
        let item = try sealed(content, data, row: place.old.id, reference: place.reference, context)
        // Other attributes than those of the primary key may differ.
        try change(place.old, to: item, isFoundElsewhere: true, context)
        hasRemovedProtected = hasRemovedProtected || place.old.isProtected
    }

    private func sealed(
        _ content: ItemContent,
        _ data: borrowing SecretBytes?,
        row: Int64,
        reference: [UInt8]?,
        _ context: ItemContext
    ) throws(KeychainError) -> SealedItem {
        var content = content
        content.mark = content.mark?.remade(for: data, context)
        return try content.sealed(
            row: row,
            reference: reference,
            data: data,
            password: nil,
            // What was stored is stored again: an earlier version may have taken more.
            atMost: .max,
            in: context
        )
    }

    /// The valid item that has the primary key of an item of an export; nil if there is none.
    private func place(
        of content: ItemContent,
        _ data: borrowing SecretBytes?,
        _ merge: ItemMerge,
        _ context: ItemContext
    ) throws -> Place? {
        let digests = try content.makeDigests(in: context)
        var place: Place?
        do {
            try ItemRow.forEach(database, .name(digests[.name]), after: 0, tags: itemSet.tags) { row in
                guard row.isCurrent(itemSet.tags[row.id]) else { throw AEAD.NotAuthentic() }
                try row.open(in: context) { header in
                    guard unsafe header.digest(.variant).elementsEqual(digests[.variant]),
                        let control = header.accessControl(atEpoch: context.epoch)
                    else { return }
                    let former = try ItemContent(header)
                    let isAlike =
                        control == content.accessControl
                        && Self.comparable(former) == Self.comparable(content)
                    place = Place(
                        old: try OldRow(row, header, context),
                        reference: unsafe Array(row.reference),
                        generation: former.generation,
                        isSame: try isAlike && row.holds(data, header, content.accessControl, merge, context)
                    )
                }
                return true
            }
        } catch is AEAD.NotAuthentic {
            throw KeychainError.damaged
        }
        return place
    }
}

extension ItemRow {
    /// Whether the row's data, opened with the passcode's key, are `data`; damaged data are not.
    fileprivate func holds(
        _ data: borrowing SecretBytes?,
        _ header: OpenedHeader,
        _ control: AccessControl,
        _ merge: ItemMerge,
        _ context: ItemContext
    ) throws(KeychainError) -> Bool {
        guard let wraps = unsafe keys else { throw .damaged }
        var place = AEADKeyPlace()
        do throws(KeychainError) {
            place.take(
                try unsafe context.withBinding(of: .key, reference, header.header) {
                    (binding) throws(KeychainError) in
                    try unsafe ItemKeyWrap.open(
                        Array(wraps),
                        control: control,
                        keys: context.keys,
                        shown: [ItemKeyWrap.Shown(biometry: true, passcodeKey: merge.passcodeKey)],
                        password: nil,
                        authenticating: Array(binding)
                    )
                }
            )
            let former = try openData(header, with: place, context)
            switch data {
            case .none: return unsafe self.data == nil
            case .some(let new):
                switch former {
                case .none: return false
                case .some(let old): return old.matches(new)
                }
            }
        } catch {
            guard error.cause == .damaged else { throw error }
            return false
        }
    }
}

extension ItemContent {
    /// The most names that are tried for an item beside another one.
    fileprivate static let mostNamesBesides = 99
    /// The most bytes of an account that is given: the command line's names have no more.
    private static let longestNewAccount = 255

    /// The item under another account: its own with ` (backup)` or ` (backup 2)` and so on.
    ///
    /// - Returns: nil if it is not a password, or the account would be too long.
    fileprivate func renamed(_ number: Int) -> ItemContent? {
        guard itemClass == .genericPassword || itemClass == .internetPassword else { return nil }
        var account = ""
        switch attributes[.account] {
        case nil: break
        case .string(let text)?: account = text + " "
        default: return nil
        }
        account += number == 1 ? "(backup)" : "(backup \(number))"
        guard account.utf8.count <= Self.longestNewAccount else { return nil }
        var renamed = self
        renamed.attributes[.account] = .string(account)
        return renamed
    }

    /// What the user is told of the item.
    func told(_ outcome: ExportedItem.Outcome, as newName: String? = nil) -> ExportedItem {
        ExportedItem(
            outcome,
            itemClass: itemClass,
            group: group,
            name: name,
            accessControl: accessControl,
            newName: newName
        )
    }
}
