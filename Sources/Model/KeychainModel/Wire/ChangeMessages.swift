public import CBOR

/// Asks for changes: null, or true for those of items too (``KeychainChange/Kind/items``).
public struct WatchRequest: WireBody, Sendable, Equatable {
    /// Whether changes of items are reported too.
    public let tellsItems: Bool

    /// Asks for changes.
    public init(tellsItems: Bool = false) { self.tellsItems = tellsItems }

    /// Writes true, or null.
    public func encode(to writer: inout WireWriter) {
        if tellsItems { writer.write(true) } else { writer.writeNull() }
    }

    /// Reads true, or null.
    public init(from reader: inout CBORReader) throws {
        let tellsItems = try reader.readOptional { try $0.readBool() }
        guard tellsItems != false else { throw WireError.malformed }
        self.tellsItems = tellsItems ?? false
    }
}

/// The changes since the previous reply: `[incomplete, [kind, time, …]]`.
///
/// The replies to ``Method/watch``, each with `more`. The first one is sent immediately, usually empty: after it the
/// client queries the current state.
public struct ChangesReply: WireBody, Sendable, Equatable {
    /// The most changes of one reply.
    public static let mostChanges = 32

    /// Whether changes were omitted because the client did not read: it has to query the state itself.
    public let isIncomplete: Bool
    /// The changes, in order.
    public let changes: [KeychainChange]

    /// Reports changes.
    public init(isIncomplete: Bool = false, changes: [KeychainChange] = []) {
        self.isIncomplete = isIncomplete
        self.changes = changes
    }

    /// Writes the changes.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(isIncomplete)
        writer.writeArrayHead(count: 2 * changes.count)
        for change in changes {
            writer.write(unsigned: UInt64(change.kind.rawValue))
            writer.write(change.time)
        }
    }

    /// Reads the changes.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        isIncomplete = try reader.readBool()
        let count = try reader.readArrayHead()
        guard count % 2 == 0, count / 2 <= Self.mostChanges else { throw WireError.malformed }
        var changes: [KeychainChange] = []
        for _ in 0..<(count / 2) {
            guard let kind = UInt8(exactly: try reader.readUnsigned()).flatMap(KeychainChange.Kind.init)
            else {
                throw WireError.malformed
            }
            changes.append(KeychainChange(kind, time: try reader.readInteger()))
        }
        self.changes = changes
    }
}
