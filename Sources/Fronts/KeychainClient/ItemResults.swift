import CBOR
public import KeychainModel
public import SecretMemory

/// One item of a result; it has only the parts that were requested.
public struct ItemResult: ~Copyable, Sendable {
    private let page: ItemPage
    private let entry: ItemPage.Entry

    fileprivate init(_ page: ItemPage, _ entry: ItemPage.Entry) {
        self.page = page
        self.entry = entry
    }

    /// Whether the result includes the item's secret.
    public var hasData: Bool { entry.data != nil }

    /// Calls `body` with the secret in its receive buffer; nil without a secret.
    public borrowing func withData<R: ~Copyable, E: Error>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R? {
        guard let data = entry.data else { return nil }
        return try page.withOctets { octets throws(E) in try body(octets.extracting(data)) }
    }

    /// Copies the secret; nil without one.
    ///
    /// - Throws: ``KeychainError`` with `errSecAllocate` if memory cannot be locked.
    public borrowing func copyData() throws(KeychainError) -> SecretBytes? {
        do throws(SecretMemoryError) {
            return try withData { octets throws(SecretMemoryError) in try SecretBytes(lockedCopy: octets) }
        } catch {
            throw KeychainError(error)
        }
    }

    /// When the item was found invalidated, in microseconds since 1970, or 0 if unknown; nil for an item that can
    /// be opened.
    public var invalidated: Int64? { entry.invalidated }

    /// The item's persistent reference.
    public var reference: PersistentReference? { page.reference(entry) }

    /// The item's attributes, including its access control; decoded at each call.
    public var attributes: ItemAttributes? {
        var attributes: ItemAttributes?
        page.readAttributes(entry) { attributes = try $0.readAttributes() }
        return attributes
    }

    /// Calls `body` with each attribute, for callers with storage of their own; decodes at each call.
    public func forEachAttribute(_ body: (AttributeKey, AttributeValue) -> Void) {
        page.readAttributes(entry) { try $0.readAttributes(body) }
    }
}

/// The items in the reply to a request.
///
/// The items stay in the pages in which they arrived, with secrets in locked memory that is wiped afterwards,
/// and are read one by one.
public struct ItemResults: ~Copyable, Sendable {
    private let replies: ItemReplies

    /// The number of items.
    public var count: Int { replies.count }

    init(_ replies: ItemReplies) { self.replies = replies }

    /// Calls `body` with each item.
    public borrowing func forEach<E: Error>(
        _ body: (borrowing ItemResult) throws(E) -> Void
    ) throws(E) {
        for page in replies.pages {
            for entry in page.entries {
                try body(ItemResult(page, entry))
            }
        }
    }

    /// The first item, if there is one.
    public borrowing func first() -> ItemResult? {
        for page in replies.pages {
            if let entry = page.entries.first { return ItemResult(page, entry) }
        }
        return nil
    }
}

/// Collects the pages of a result.
///
/// A result without secrets is kept in ordinary memory, because locked memory is scarce and a list may be long. A result
/// with secrets reserves locked memory for its first page on arrival, and with the second page for its maximum size, so
/// that no two long results wait for each other. The reading thread cannot wait for a reservation, because results that it
/// is reading may hold the memory. Without one, the result is given up with ``DriverCause/noRoom``, and its own thread
/// waits and repeats the request.
final class ItemReplies: ReplySink, @unchecked Sendable {  // the connection's monitor orders all access
    /// The maximum locked memory of one result, in bytes; the limit of an ordinary user is 8 MiB.
    static let mostLocked = 4 << 20

    // Written by the reading thread, and afterwards read by the waiting thread.
    private(set) var count = 0
    private(set) var pages: [ItemPage] = []
    private var locked = 0
    private let holdsSecrets: Bool
    /// Where to reserve locked memory; nil if it was reserved before.
    private let room: LockedRoom?
    private var reservations: [LockedRoom.Reservation]

    /// Reserves locked memory as pages arrive.
    init(returns: ItemQuery.Returns, room: LockedRoom) {
        holdsSecrets = returns.contains(.data)
        self.room = room
        reservations = []
    }

    /// Uses memory that was reserved before, for the maximum size.
    init(returns: ItemQuery.Returns, reserved: LockedRoom.Reservation?) {
        holdsSecrets = returns.contains(.data)
        room = nil
        reservations = reserved.map { [$0] } ?? []
    }

    private func takeRoom(_ octets: Int) throws(KeychainError) {
        guard let room, pages.count < 2 else { return }
        let wanted = pages.isEmpty ? octets : Self.mostLocked - (locked - octets)
        guard let reservation = room.reserveNow(wanted) else {
            throw KeychainError(.allocate, cause: .noRoom)
        }
        reservations.append(reservation)
    }

    func accept(_ message: consuming ReceivedMessage, bodyAt start: Int) throws {
        if holdsSecrets {
            locked += message.count
            guard locked <= Self.mostLocked else {
                let cause = DriverCause(.resultTooLarge)
                throw KeychainError(.allocate, cause: cause)
            }
            try takeRoom(message.count)
        }
        let page = try ItemPage(message, bodyAt: start, holdsSecrets: holdsSecrets)
        count += page.entries.count
        pages.append(page)
    }
}

/// One page of a result, validated when it arrived; its parts are decoded on access.
final class ItemPage: Sendable {
    /// The ranges of an item's parts in the body; empty for a missing part.
    struct Entry {
        fileprivate var reference = 0..<0
        fileprivate var attributes = 0..<0
        /// Nil if missing; a secret may be empty.
        fileprivate var data: Range<Int>?
        fileprivate var invalidated: Int64?
    }

    let entries: [Entry]
    /// The message, if it contains secrets.
    private let message: ReceivedMessage?
    private let bodyStart: Int
    /// A copy of the body, if it contains no secrets.
    private let plain: [UInt8]

    init(_ message: consuming ReceivedMessage, bodyAt start: Int, holdsSecrets: Bool) throws {
        bodyStart = start
        entries = try message.readBody(from: start) { reader in
            // The reply to `addItem` if nothing was to be returned.
            if try reader.readNullIfPresent() { return [] }
            let count = try reader.readArrayHead()
            var entries: [Entry] = []
            entries.reserveCapacity(count)
            for _ in 0..<count { entries.append(try reader.readEntry(mayHaveData: holdsSecrets)) }
            return entries
        }
        if holdsSecrets {
            plain = []
            self.message = consume message
        } else {
            plain = message.withOctets { octets in
                unsafe octets.extracting(start...).withUnsafeBytes { unsafe Array($0) }
            }
            self.message = nil
        }
    }

    fileprivate func reference(_ entry: Entry) -> PersistentReference? {
        withOctets { octets in
            PersistentReference(octets: entry.reference.map { octets[$0] })
        }
    }

    fileprivate func readAttributes(_ entry: Entry, _ body: (inout CBORReader) throws -> Void) {
        guard !entry.attributes.isEmpty else { return }
        withOctets { octets in
            do {
                try CBORReader.read(octets.extracting(entry.attributes), limits: Frame.limits, body)
            } catch {
                preconditionFailure("attributes were read before and do not change")
            }
        }
    }

    fileprivate func withOctets<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        switch message {
        case .some(let message):
            return try message.withOctets { octets throws(E) in try body(octets.extracting(bodyStart...)) }
        case .none:
            let plain = plain
            let octets = plain.span
            return try body(octets)
        }
    }
}

extension CBORReader {
    /// Skips one item's map and records the ranges of its parts.
    fileprivate mutating func readEntry(mayHaveData: Bool) throws -> ItemPage.Entry {
        var entry = ItemPage.Entry()
        for _ in 0..<(try readMapHead()) {
            switch try readUnsigned() {
            case ItemField.reference:
                entry.reference = try skipBytes()
                guard entry.reference.count == PersistentReference.octetCount else {
                    throw WireError.malformed
                }
            case ItemField.attributes: entry.attributes = try skipAttributes()
            case ItemField.data:
                guard mayHaveData else { throw WireError.malformed }
                entry.data = try skipBytes()
            case ItemField.invalidated: entry.invalidated = try readInteger()
            default: try skipValue()
            }
        }
        return entry
    }
}
