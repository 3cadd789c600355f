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
    enum PageOutcome {
        case page(ItemPage, next: ItemCursor?)
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
        after cursor: ItemCursor?
    ) throws(KeychainError) -> PageOutcome {
        func page(from source: ItemSearch.Source, isPartial: Bool) throws(KeychainError) -> PageOutcome? {
            try self.page(
                search,
                from: source,
                isPartial: isPartial,
                context,
                authorization: authorization,
                password: password,
                after: cursor
            )
        }
        if !itemSet.isWhole {
            if case .references(let references) = search.source {
                for reference in references { try readSection(of: reference.row, context) }
            } else if search.limit == 1, cursor == nil,
                let outcome = try page(from: search.partialSource(in: context), isPartial: true)
            {
                return outcome
            } else {
                try readWholeSet(context)
            }
        }
        // Only a partial search returns nil.
        guard let outcome = try page(from: search.source, isPartial: false) else {
            throw KeychainError(.internalComponent)
        }
        return outcome
    }

    /// Reads the next page from a source.
    ///
    /// - Returns: nil if `isPartial` and no item was found.
    private func page(
        _ search: ItemSearch,
        from source: ItemSearch.Source,
        isPartial: Bool,
        _ context: ItemContext,
        authorization: ItemAuthorization,
        password: Key?,
        after cursor: ItemCursor?
    ) throws(KeychainError) -> PageOutcome? {
        let returned = cursor?.returned ?? 0
        let most = search.limit - returned
        guard most > 0 else { return .page(ItemPage(expectsMany: false), next: nil) }
        let page = ItemPage(expectsMany: search.limit > 8)
        var reader = PageReader(
            query: search.query,
            limit: search.limit,
            context: context,
            authorization: authorization,
            password: password,
            key: itemKey
        )
        defer { itemKey.clear() }
        var next: ItemCursor?
        try ItemDatabase.translatingErrors {
            func take(_ row: ItemRow) throws -> Bool {
                do {
                    try readSection(of: row.id, context)
                    guard row.isCurrent(itemSet.tags) else { throw AEAD.NotAuthentic() }
                    if search.query.returns.contains(.data) { try checkAbsentData(of: row, context) }
                    return try row.open(in: context) { header in
                        guard search.matches(row, header) else { return true }
                        if page.isFull {
                            next = ItemCursor(row: page.lastRow, returned: returned + page.count)
                            return false
                        }
                        return try reader.take(row, header, into: page) && page.count < most
                    }
                } catch is AEAD.NotAuthentic {
                    // If one item is wanted, another intact row may be it.
                    reader.isDamageSeen = true
                    return search.limit == 1
                }
            }
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
                    tags: itemSet.tags,
                    take
                )
            } catch is AEAD.NotAuthentic {
                reader.isDamageSeen = true
            }
        }
        if !reader.needed.isEmpty { return .needsUser(reader.needed) }
        if isPartial, page.count == 0 { return nil }
        if reader.isDamageSeen, search.limit > 1 || page.count == 0 { throw .damaged }
        if page.count == 0, cursor == nil {
            if reader.isInvalidatedSeen { throw KeychainError(.itemNotFound, cause: .invalidated) }
            if source.needsIndex, try mayHideItems(context) { throw .damaged }
            throw KeychainError(.itemNotFound)
        }
        return .page(page, next: next)
    }
}

/// Takes matching items into a page, or records why it cannot.
private struct PageReader {
    let context: ItemContext
    let authorization: ItemAuthorization
    let password: Key?
    var needed: [AccessControl] = []
    var isDamageSeen = false
    var isInvalidatedSeen = false
    private var neededCount = 0
    private let returns: ItemQuery.Returns
    private let authenticationUI: ItemQuery.AuthenticationUI
    private let limit: Int
    private let key: AEADKeyPlace

    init(
        query: borrowing ItemQuery,
        limit: Int,
        context: ItemContext,
        authorization: ItemAuthorization,
        password: Key?,
        key: AEADKeyPlace
    ) {
        returns = query.returns
        authenticationUI = query.authenticationUI
        self.limit = limit
        self.context = context
        self.authorization = authorization
        self.password = password
        self.key = key
    }

    /// - Returns: whether to continue.
    mutating func take(_ row: ItemRow, _ header: OpenedHeader, into page: ItemPage) throws -> Bool {
        let control: AccessControl
        switch try ItemOpening(header, authorization: authorization, epoch: context.epoch) {
        case .open(let current): control = current
        case .invalidated:
            isInvalidatedSeen = true
            guard returns.contains(.invalidated), needed.isEmpty else { return true }
            unsafe page.begin(
                returns,
                row: row.id,
                reference: row.reference,
                attributes: header.attributes,
                hasData: false,
                invalidated: context.epochEnds[header.epoch] ?? 0
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
                return neededCount < limit
            }
            control = current
        case .never(let error):
            guard authenticationUI != .skip else { return true }
            guard !returns.contains(.data) else { throw KeychainError(error) }
            control = AccessControl(accessibility: .whenUnlocked)
        }
        guard needed.isEmpty else { return true }
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
                to: page,
                header,
                control,
                proofs: authorization.proofs(covering: control, for: .useItem),
                password: password,
                key: key,
                context
            )
        }
        return true
    }
}
