internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// What must happen before an item can be opened.
enum ItemOpening {
    case open(AccessControl)
    case needsUser(AccessControl)
    case invalidated
    case never(AuthenticationError)

    /// Judges an item by the given authorisation.
    ///
    /// It decides only what is attempted: the keys decide what opens.
    init(_ header: OpenedHeader, authorization: ItemAuthorization, epoch: UInt64) throws(KeychainError) {
        guard let current = header.accessControl(atEpoch: epoch) else {
            self = .invalidated
            return
        }
        guard let control = current else { throw .damaged }
        guard !control.flags.isEmpty else {
            self = .open(control)
            return
        }
        switch control.decide(given: authorization.proofs, operation: .useItem) {
        case .granted: self = .open(control)
        case .needs: self = .needsUser(control)
        case .denied(let error): self = .never(error)
        }
    }
}

extension ItemStore {
    enum PageOutcome: ~Copyable {
        case page(EncodedItems)
        case needsUser([AccessControl])
    }

    /// Reads the next page of a search.
    ///
    /// While some tags are unread, an item that is found is proved by the tags of its own section; that there is none, or
    /// no further one, is proved only by all tags.
    func page(
        _ search: ItemSearch,
        _ context: ItemContext,
        authorization: ItemAuthorization,
        password: Key?,
        hidesNames: Bool,
        after cursor: ItemCursor?
    ) throws(KeychainError) -> PageOutcome {
        let reading = ItemReading(
            search: search,
            context: context,
            authorization: authorization,
            password: password,
            hidesNames: hidesNames && search.query.returns.contains(.attributes)
        )
        if !itemSet.isWhole {
            if case .references(let references) = search.source {
                for reference in references { try readSection(of: reference.row, context) }
            } else {
                if search.limit == 1, cursor == nil {
                    let source = try search.partialSource(in: context)
                    let outcome = try page(reading, from: source, isPartial: true, with: &itemKey, after: nil)
                    if let outcome { return outcome }
                }
                try readWholeSet(context)
            }
        }
        // Only a partial search returns nil.
        guard
            let outcome = try page(
                reading,
                from: search.source,
                isPartial: false,
                with: &itemKey,
                after: cursor
            )
        else { throw KeychainError(.internalComponent) }
        return outcome
    }

    /// Reads the next page from a source; `key` holds one item's key at a time, and none afterwards.
    ///
    /// - Returns: nil if `isPartial` and no item was found.
    private func page(
        _ reading: ItemReading,
        from source: ItemSearch.Source,
        isPartial: Bool,
        with key: inout AEADKeyPlace,
        after cursor: ItemCursor?
    ) throws(KeychainError) -> PageOutcome? {
        let (search, context) = (reading.search, reading.context)
        var reader = PageReader(search, tags: itemSet.isWhole ? itemSet.tags : nil, after: cursor)
        guard reader.most > 0 else { return .page(reader.page.finish(next: nil)) }
        defer { key.clear() }
        try ItemDatabase.translatingErrors {
            // A search for all items must not return fewer: fail if the index may be incomplete.
            if source.needsIndex, search.limit > 1, cursor == nil, try mayHideItems(context) {
                throw KeychainError.damaged
            }
            do {
                try ItemRow.forEach(
                    database,
                    source,
                    hasData: search.query.returns.contains(.data),
                    after: cursor?.row ?? 0,
                    tags: itemSet.tags
                ) { row in try reader.read(row, reading, in: self, with: &key) }
            } catch is AEAD.NotAuthentic {
                reader.isDamageSeen = true
            }
        }
        if !reader.needed.isEmpty { return .needsUser(reader.needed) }
        let count = reader.page.count
        if isPartial, count == 0 { return nil }
        if reader.isDamageSeen, search.limit > 1 || count == 0 { throw .damaged }
        if count == 0, cursor == nil {
            if reader.isInvalidatedSeen { throw KeychainError(.itemNotFound, cause: .invalidated) }
            if source.needsIndex, try mayHideItems(context) { throw .damaged }
            throw KeychainError(.itemNotFound)
        }
        return .page(reader.page.finish(next: reader.next))
    }
}

/// A search and what its items are opened with; the same for all rows.
private struct ItemReading {
    let search: ItemSearch
    let context: ItemContext
    let authorization: ItemAuthorization
    let password: Key?
    /// Whether the attributes are returned only while the item's class key is in memory.
    let hidesNames: Bool
}

/// Takes matching items into a page, or records why it cannot.
///
/// What changes with each row is here, so that no closure has to capture it in a box: the reference counts and checks of
/// exclusive access of such boxes cost a list of 10,000 items 6 % more time.
private struct PageReader: ~Copyable {
    /// The most items that the page may have.
    let most: Int
    var page: ItemPage
    var next: ItemCursor?
    var needed: [AccessControl] = []
    var isDamageSeen = false
    var isInvalidatedSeen = false
    private let returned: Int
    /// nil: some tags have not been read yet.
    private var tags: ItemTags.Reader?
    private var neededCount = 0

    init(_ search: ItemSearch, tags: ItemTags?, after cursor: ItemCursor?) {
        returned = cursor?.returned ?? 0
        most = search.limit - returned
        page = ItemPage(expectsMany: search.limit > 8)
        self.tags = tags.map { ItemTags.Reader($0) }
    }

    /// - Returns: whether to continue.
    mutating func read(
        _ row: ItemRow,
        _ reading: ItemReading,
        in store: ItemStore,
        with key: inout AEADKeyPlace
    ) throws -> Bool {
        do {
            guard row.isCurrent(try tag(of: row, reading, store)) else { throw AEAD.NotAuthentic() }
            if reading.search.query.returns.contains(.data) {
                try store.checkAbsentData(of: row, reading.context)
            }
            return try row.open(in: reading.context) { header in
                guard reading.search.matches(row, header) else { return true }
                if page.isFull {
                    next = ItemCursor(row: page.lastRow, returned: returned + page.count)
                    return false
                }
                return try take(row, header, reading, with: &key) && page.count < most
            }
        } catch is AEAD.NotAuthentic {
            // If one item is wanted, another intact row may be it.
            isDamageSeen = true
            return reading.search.limit == 1
        }
    }

    private mutating func tag(of row: ItemRow, _ reading: ItemReading, _ store: ItemStore) throws -> ItemTag?
    {
        if tags != nil { return tags?.tag(of: row.id) }
        try store.readSection(of: row.id, reading.context)
        return store.itemSet.tags[row.id]
    }

    /// - Returns: whether to continue.
    private mutating func take(
        _ row: ItemRow,
        _ header: OpenedHeader,
        _ reading: ItemReading,
        with key: inout AEADKeyPlace
    ) throws -> Bool {
        let (returns, authenticationUI) = (
            reading.search.query.returns, reading.search.query.authenticationUI
        )
        let control: AccessControl
        switch try ItemOpening(header, authorization: reading.authorization, epoch: reading.context.epoch) {
        case .open(let current):
            // What is skipped needs no other answer, whether a user or a password is missing.
            let isPasswordMissing = reading.authorization.applicationPassword == nil
            if authenticationUI == .skip, current.needsApplicationPassword, isPasswordMissing { return true }
            control = current
        case .invalidated:
            isInvalidatedSeen = true
            guard returns.contains(.invalidated), needed.isEmpty else { return true }
            if reading.hidesNames { _ = try reading.context.classKey(.whenUnlocked) }
            unsafe page.begin(
                returns,
                row: row.id,
                reference: row.reference,
                attributes: header.attributes,
                hasData: false,
                invalidated: reading.context.epochEnds[header.epoch] ?? 0
            )
            return true
        case .needsUser(let current):
            guard authenticationUI != .skip else { return true }
            if returns.contains(.data) {
                guard authenticationUI == .allow else {
                    throw KeychainError(.interactionNotAllowed)
                }
                // From here on no item is returned: collect all controls, so that the user is prompted once.
                if !needed.contains(current) { needed.append(current) }
                neededCount += 1
                return neededCount < reading.search.limit
            }
            control = current
        case .never(let error):
            guard authenticationUI != .skip else { return true }
            guard !returns.contains(.data) else { throw KeychainError(error) }
            control = AccessControl(accessibility: .whenUnlocked)
        }
        guard needed.isEmpty else { return true }
        if reading.hidesNames { _ = try reading.context.classKey(control.accessibility) }
        let hasData = unsafe returns.contains(.data) && row.data != nil
        unsafe page.begin(
            returns,
            row: row.id,
            reference: row.reference,
            attributes: header.attributes,
            hasData: hasData
        )
        if hasData {
            try row.appendData(
                to: &page,
                header,
                control,
                proofs: reading.authorization.proofs(covering: control, for: .useItem),
                password: reading.password,
                key: &key,
                reading.context
            )
        }
        return true
    }
}
