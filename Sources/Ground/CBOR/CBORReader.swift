/// Reads CBOR item by item, and refuses everything that is not in the deterministic form of RFC 8949, section 4.2.1.
///
/// The reader itself checks what does not depend on a message's schema: shortest heads and floats, definite lengths,
/// counts no larger than the bytes left, depth, UTF-8, and map keys sorted and without duplicates; with
/// ``CBORLimits/allowsAnyKeyOrder``, the duplicates alone. The schema is left
/// to its user. A reader exists only within ``read(_:limits:_:)``, because it points into memory that is lent for the
/// length of that call.
///
/// ```swift
/// let port = try CBORReader.read(octets) { reader in
///     guard try reader.readMapHead() == 1 else { throw Unexpected() }
///     guard try reader.readText() == "port" else { throw Unexpected() }
///     return try reader.readUnsigned()
/// }
/// ```
///
/// After an error other than ``CBORError/Code/typeMismatch``, which consumes nothing, do not read on.
///
/// Methods that only inspect are always inlined: a call that borrows the reader copies all of it.
@safe
public struct CBORReader: ~Copyable {
    @usableFromInline
    internal let octets: UnsafeRawBufferPointer
    @usableFromInline
    internal let limits: CBORLimits
    @usableFromInline
    internal var position = 0
    /// The innermost array, map or tag that is not complete yet; the message itself when there is none.
    @usableFromInline
    internal var container = Container(remaining: Int.max, kind: .message)
    /// The containers around it, outermost first.
    @usableFromInline
    internal var outer = ContainerStack()
    /// The encoded keys so far of the maps around the next item, by depth; only if they may come in any order.
    @usableFromInline
    internal var seenKeys: [Set<[UInt8]>] = []

    @usableFromInline
    internal init(_ octets: UnsafeRawBufferPointer, limits: CBORLimits) throws(CBORError) {
        guard octets.count <= limits.octets else { throw CBORError(.tooLarge, at: limits.octets) }
        unsafe self.octets = octets
        self.limits = limits
    }

    /// How many bytes have been read.
    @inlinable
    public var offset: Int { position }

    /// Whether every byte has been read.
    @inlinable
    public var isAtEnd: Bool { octetsLeft == 0 }

    @inlinable
    @inline(__always)
    internal var octetsLeft: Int { unsafe octets.count - position }
}

// MARK: - A message from beginning to end

extension CBORReader {
    /// Reads `octets`, which are lent to `body` by way of a reader.
    ///
    /// - Parameters:
    ///   - octets: the message.
    ///   - limits: what is accepted.
    ///   - body: reads the items. Bytes it leaves unread are an error unless the limits allow them.
    /// - Returns: what `body` returned.
    /// - Throws: ``CBORError``, or what `body` threw.
    @inlinable
    public static func read<R: ~Copyable>(
        _ octets: UnsafeRawBufferPointer,
        limits: CBORLimits = .init(),
        _ body: (inout CBORReader) throws -> R
    ) throws -> R {
        var reader = try unsafe CBORReader(octets, limits: limits)
        let result = try body(&reader)
        try reader.end()
        return result
    }

    /// ``read(_:limits:_:)`` for a `body` that throws ``CBORError`` only.
    @inlinable
    public static func read<R: ~Copyable>(
        _ octets: UnsafeRawBufferPointer,
        limits: CBORLimits = .init(),
        _ body: (inout CBORReader) throws(CBORError) -> R
    ) throws(CBORError) -> R {
        var reader = try unsafe CBORReader(octets, limits: limits)
        let result = try body(&reader)
        try reader.end()
        return result
    }

    /// ``read(_:limits:_:)`` for bytes that a span lends.
    @inlinable
    public static func read<R: ~Copyable>(
        _ octets: Span<UInt8>,
        limits: CBORLimits = .init(),
        _ body: (inout CBORReader) throws -> R
    ) throws -> R {
        try unsafe octets.withUnsafeBytes { try unsafe read($0, limits: limits, body) }
    }

    /// ``read(_:limits:_:)`` for bytes that a span lends and a `body` that throws ``CBORError`` only.
    @inlinable
    public static func read<R: ~Copyable>(
        _ octets: Span<UInt8>,
        limits: CBORLimits = .init(),
        _ body: (inout CBORReader) throws(CBORError) -> R
    ) throws(CBORError) -> R {
        try unsafe octets.withUnsafeBytes { octets throws(CBORError) in
            try unsafe read(octets, limits: limits, body)
        }
    }

    /// ``read(_:limits:_:)`` for an array.
    @inlinable
    public static func read<R: ~Copyable>(
        _ octets: [UInt8],
        limits: CBORLimits = .init(),
        _ body: (inout CBORReader) throws -> R
    ) throws -> R {
        try read(octets.span, limits: limits, body)
    }

    /// ``read(_:limits:_:)`` for an array and a `body` that throws ``CBORError`` only.
    @inlinable
    public static func read<R: ~Copyable>(
        _ octets: [UInt8],
        limits: CBORLimits = .init(),
        _ body: (inout CBORReader) throws(CBORError) -> R
    ) throws(CBORError) -> R {
        try read(octets.span, limits: limits, body)
    }

    /// Reads only the first items of `octets`: the bytes after them are not checked.
    ///
    /// - Parameters:
    ///   - octets: the message.
    ///   - limits: what is accepted.
    ///   - body: reads the items.
    /// - Returns: what `body` returned.
    /// - Throws: ``CBORError``, or what `body` threw.
    @inlinable
    public static func readBeginning<R: ~Copyable>(
        of octets: Span<UInt8>,
        limits: CBORLimits = .init(),
        _ body: (inout CBORReader) throws -> R
    ) throws -> R {
        try unsafe octets.withUnsafeBytes { octets in
            var reader = try unsafe CBORReader(octets, limits: limits)
            return try body(&reader)
        }
    }

    @usableFromInline
    internal func end() throws(CBORError) {
        guard outer.isEmpty else { throw CBORError(.unfinishedItem, at: position) }
        guard isAtEnd || limits.allowsTrailingOctets else { throw CBORError(.trailingOctets, at: position) }
    }
}

// MARK: - Items

extension CBORReader {
    /// The type of the next item, which stays unread.
    @inlinable
    @inline(__always)
    public func peekType() throws(CBORError) -> CBORType {
        try Self.type(of: try peek(), at: position)
    }

    @usableFromInline
    internal static func type(of initial: UInt8, at position: Int) throws(CBORError) -> CBORType {
        switch initial >> 5 {
        case 0: return .unsigned
        case 1: return .negative
        case 2: return .bytes
        case 3: return .text
        case 4: return .array
        case 5: return .map
        case 6: return .tag
        default: break
        }
        switch initial & 0x1F {
        case 20, 21: return .bool
        case 22: return .null
        case 23: return .undefined
        case 0...19, 24: return .simple
        case 25...27: return .float
        case 31: throw CBORError(.unexpectedBreak, at: position)
        default: throw CBORError(.notWellFormed, at: position)
        }
    }

    /// Reads an unsigned integer (major type 0).
    @inlinable
    public mutating func readUnsigned() throws(CBORError) -> UInt64 {
        let number = try readHead(.unsigned)
        try endItem()
        return number
    }

    /// Reads an integer of either sign (major types 0 and 1).
    public mutating func readInteger() throws(CBORError) -> Int64 {
        let start = position
        let isNegative = try peek() >> 5 == 1
        let number = try readHead(isNegative ? .negative : .unsigned)
        guard let value = Int64(exactly: number) else { throw CBORError(.integerOverflow, at: start) }
        try endItem()
        return isNegative ? ~value : value
    }

    /// Reads a byte string (major type 2).
    public mutating func readBytes() throws(CBORError) -> [UInt8] {
        try readBytes { octets in
            unsafe octets.withUnsafeBytes { unsafe [UInt8]($0) }
        }
    }

    /// Reads a byte string and lends it in place, without a copy: for a secret, or a part that is decoded in turn.
    public mutating func readBytes<R: ~Copyable>(
        _ body: (Span<UInt8>) throws(CBORError) -> R
    ) throws(CBORError) -> R {
        guard let content = try readContent(.bytes) else {
            let whole = try readChunks(.bytes)
            let octets = whole.span
            return try body(octets)
        }
        try endItem()
        return try lend(content, body)
    }

    /// ``readBytes(_:)`` for a `body` that throws errors of its own.
    public mutating func readBytes<R: ~Copyable>(_ body: (Span<UInt8>) throws -> R) throws -> R {
        guard let content = try readContent(.bytes) else {
            let whole = try readChunks(.bytes)
            let octets = whole.span
            return try body(octets)
        }
        try endItem()
        return try lend(content, body)
    }

    /// Reads a text string (major type 3).
    public mutating func readText() throws(CBORError) -> String {
        guard let content = try readContent(.text) else {
            let whole = try readChunks(.text)
            let octets = whole.span
            return try string(octets, at: position)
        }
        let text = try lend(content) { octets throws(CBORError) in try string(octets, at: content.lowerBound)
        }
        try endItem()
        return text
    }

    /// Reads false or true.
    @inlinable
    public mutating func readBool() throws(CBORError) -> Bool {
        let initial = try peek()
        guard initial == 0xF4 || initial == 0xF5 else { throw CBORError(.typeMismatch, at: position) }
        try readOneOctetItem()
        return initial == 0xF5
    }

    /// Reads null.
    @inlinable
    public mutating func readNull() throws(CBORError) {
        guard try peek() == 0xF6 else { throw CBORError(.typeMismatch, at: position) }
        try readOneOctetItem()
    }

    /// Reads null if it comes next; false, with nothing read, if it does not.
    @inlinable
    public mutating func readNullIfPresent() throws(CBORError) -> Bool {
        guard try peek() == 0xF6 else { return false }
        try readOneOctetItem()
        return true
    }

    /// Reads a floating-point number.
    public mutating func readDouble() throws(CBORError) -> Double {
        let start = position
        let initial = try peek()
        guard (0xF9...0xFB).contains(initial) else { throw CBORError(.typeMismatch, at: start) }
        guard limits.allowsFloats else { throw CBORError(.floatNotAllowed, at: start) }
        beginItem()
        let bits = try readFixed(byteCount: 1 << Int(initial & 0x1F - 24))
        let number: Double
        let isShortest: Bool
        switch initial {
        case 0xF9:
            number = HalfFloat.value(of: UInt16(truncatingIfNeeded: bits))
            isShortest = !number.isNaN || bits == HalfFloat.nan
        case 0xFA:
            number = Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
            isShortest = !number.isNaN && HalfFloat.bits(of: number) == nil
        default:
            number = Double(bitPattern: bits)
            isShortest = !number.isNaN && Float(exactly: number) == nil
        }
        guard isShortest || !limits.isDeterministic else { throw CBORError(.notShortestForm, at: start) }
        try endItem()
        return number
    }

    /// Reads the head of an array and returns the number of items that follow.
    public mutating func readArrayHead() throws(CBORError) -> Int {
        let start = position
        let count = try readHead(.array)
        guard count <= UInt64(octetsLeft) else { throw CBORError(.unexpectedEnd, at: start) }
        try enter(Container(remaining: Int(count), kind: .array), at: start)
        return Int(count)
    }

    /// Reads the head of a map and returns the number of pairs, a key and a value each, that follow.
    public mutating func readMapHead() throws(CBORError) -> Int {
        let start = position
        let count = try readHead(.map)
        guard count <= UInt64(octetsLeft / 2) else { throw CBORError(.unexpectedEnd, at: start) }
        try enter(Container(remaining: 2 * Int(count), kind: .map), at: start)
        return Int(count)
    }

    /// Reads a tag; the item that carries it follows.
    public mutating func readTag() throws(CBORError) -> UInt64 {
        let start = position
        let number = try readHead(.tag)
        guard limits.allowsTags else { throw CBORError(.tagNotAllowed, at: start) }
        try enter(Container(remaining: 1, kind: .tag), at: start)
        return number
    }
}
