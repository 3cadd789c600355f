import CBOR
public import KeychainModel
public import SecretMemory

/// One item of a result; each part is there only if it was asked for.
public struct ItemResult: ~Copyable, Sendable {
    private let page: ItemPage
    private let entry: ItemPage.Entry

    fileprivate init(_ page: ItemPage, _ entry: ItemPage.Entry) {
        self.page = page
        self.entry = entry
    }

    /// Whether its secret came with it.
    public var hasData: Bool { entry.data != nil }

    /// Lends its secret where it arrived, for the length of `body`; nil for none.
    public borrowing func withData<R: ~Copyable, E: Error>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R? {
        guard let data = entry.data else { return nil }
        return try page.withOctets { octets throws(E) in try body(octets.extracting(data)) }
    }

    /// A copy of its secret; nil for none.
    ///
    /// - Throws: ``KeychainError`` with `errSecAllocate` where memory cannot be locked.
    public borrowing func copyData() throws(KeychainError) -> SecretBytes? {
        do throws(SecretMemoryError) {
            return try withData { octets throws(SecretMemoryError) in try SecretBytes(lockedCopy: octets) }
        } catch {
            throw KeychainError(error)
        }
    }

    /// When its enrolled set was seen to be gone, in microseconds since 1970, 0 where that is not known; nil for an
    /// item that can be opened.
    public var invalidated: Int64? { entry.invalidated }

    /// Its name for good.
    public var reference: PersistentReference? { page.reference(entry) }

    /// Its attributes, the access control among them; decoded anew each time.
    public var attributes: ItemAttributes? {
        var attributes: ItemAttributes?
        page.readAttributes(entry) { attributes = try $0.readAttributes() }
        return attributes
    }

    /// Hands its attributes out one by one, for who has a place of its own for them; decoded anew each time.
    public func forEachAttribute(_ body: (AttributeKey, AttributeValue) -> Void) {
        page.readAttributes(entry) { try $0.readAttributes(body) }
    }
}

/// The items that a request brought.
///
/// They stay in the pages they arrived in, secrets locked and wiped, and are taken out one by one.
public struct ItemResults: ~Copyable, Sendable {
    private let replies: ItemReplies

    /// The number of items.
    public var count: Int { replies.count }

    init(_ replies: ItemReplies) { self.replies = replies }

    /// Lends one item after the other.
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
/// A result without secrets is kept in ordinary memory, because locked memory is scarce and a list may be long. One with
/// secrets takes room for its first page as it arrives, and with the second one for all that it may become, so that no two
/// long results wait for each other. The thread that reads cannot wait for room, which the results that it reads may
/// hold: a result without room is given up with ``DriverCause/noRoom``, and its own thread waits and asks again.
final class ItemReplies: ReplySink, @unchecked Sendable {  // the connection's monitor orders all access
    /// The most locked memory that one result may take, in bytes; ordinary users have 8 MiB.
    static let mostLocked = 4 << 20

    // Written by the reading thread, read by the waiting one afterwards.
    private(set) var count = 0
    private(set) var pages: [ItemPage] = []
    private var locked = 0
    private let holdsSecrets: Bool
    /// Where room is taken from; nil when it was taken before.
    private let room: LockedRoom?
    private var reservations: [LockedRoom.Reservation]

    /// Takes room as pages arrive.
    init(returns: ItemQuery.Returns, room: LockedRoom) {
        holdsSecrets = returns.contains(.data)
        self.room = room
        reservations = []
    }

    /// Has all the room that it may need.
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

/// One page of a result, found to be whole when it arrived; its parts are decoded when they are asked for.
final class ItemPage: Sendable {
    /// Where the parts of an item stand in the body; empty for what is not there.
    struct Entry {
        fileprivate var reference = 0..<0
        fileprivate var attributes = 0..<0
        /// Nil for none: a secret may be empty.
        fileprivate var data: Range<Int>?
        fileprivate var invalidated: Int64?
    }

    let entries: [Entry]
    /// The message, while it holds secrets.
    private let message: ReceivedMessage?
    private let bodyStart: Int
    /// A copy of a body without secrets.
    private let plain: [UInt8]

    init(_ message: consuming ReceivedMessage, bodyAt start: Int, holdsSecrets: Bool) throws {
        bodyStart = start
        entries = try message.readBody(from: start) { reader in
            // `addItem` without anything to return.
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
    /// Reads past one item's map.
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
