// Heads of items, the containers around them, and the content of strings.

/// An array, map or tag that is not complete yet.
@usableFromInline
internal struct Container {
    @usableFromInline
    internal enum Kind {
        case message
        case array
        case map
        case tag
        case indefiniteArray
        case indefiniteMap

        @inlinable
        internal var hasKeys: Bool { self == .map || self == .indefiniteMap }
    }

    /// How many items are still to come; a pair counts as two, so the number is even when a key is due.
    @usableFromInline
    internal var remaining: Int
    @usableFromInline
    internal let kind: Kind
    /// Where the newest key begins.
    @usableFromInline
    internal var keyStart = 0
    /// The key of the previous pair; empty if there is none.
    internal var previousKey = 0..<0

    @inlinable
    internal var isKeyDue: Bool { kind.hasKeys && remaining.isMultiple(of: 2) }

    @usableFromInline
    internal init(remaining: Int, kind: Kind) {
        self.remaining = remaining
        self.kind = kind
    }
}

/// The containers around the innermost one: the outer four, enough for most messages, in place, the others in an
/// array.
@usableFromInline
internal struct ContainerStack {
    private static let mostInPlace = 4

    private var inPlace = InlineArray<4, Container>(repeating: Container(remaining: 0, kind: .message))
    private var rest: [Container] = []
    internal private(set) var count = 0

    internal var isEmpty: Bool { count == 0 }

    @usableFromInline
    internal init() {}

    internal mutating func push(_ container: Container) {
        if count < Self.mostInPlace { inPlace[count] = container } else { rest.append(container) }
        count += 1
    }

    internal mutating func pop() -> Container {
        count -= 1
        return count < Self.mostInPlace ? inPlace[count] : rest.removeLast()
    }
}

// MARK: - Heads

/// RFC 8949, section 3.1.
@usableFromInline
internal enum MajorType: UInt8 {
    case unsigned = 0
    case negative = 1
    case bytes = 2
    case text = 3
    case array = 4
    case map = 5
    case tag = 6
}

extension CBORReader {
    /// The initial byte of the next item.
    @inlinable
    @inline(__always)
    internal func peek() throws(CBORError) -> UInt8 {
        guard octetsLeft > 0 else { throw CBORError(.unexpectedEnd, at: position) }
        return unsafe octets[position]
    }

    /// Begins an item of this major type and returns the argument of its head.
    @inlinable
    internal mutating func readHead(_ major: MajorType) throws(CBORError) -> UInt64 {
        let initial = try peek()
        guard initial >> 5 == major.rawValue else { throw CBORError(.typeMismatch, at: position) }
        beginItem()
        let information = initial & 0x1F
        guard information >= 24 else {
            position += 1
            return UInt64(information)
        }
        return try readArgument(information, major)
    }

    /// Reads an argument in the bytes after the initial byte.
    @usableFromInline
    internal mutating func readArgument(
        _ information: UInt8,
        _ major: MajorType
    ) throws(CBORError) -> UInt64 {
        let start = position
        switch information {
        case 24...27:
            let argument = try readFixed(byteCount: 1 << Int(information - 24))
            // The smallest number that the next shorter form cannot hold.
            let least: UInt64 = information == 24 ? 24 : 1 << (8 << (UInt64(information) - 25))
            guard argument >= least || !limits.isDeterministic else {
                throw CBORError(.notShortestForm, at: start)
            }
            return argument
        case 31 where [.bytes, .text, .array, .map].contains(major):
            throw CBORError(.indefiniteLength, at: start)
        default:
            throw CBORError(.notWellFormed, at: start)
        }
    }

    /// Reads past the initial byte and returns the number in the `byteCount` bytes after it.
    internal mutating func readFixed(byteCount: Int) throws(CBORError) -> UInt64 {
        guard octetsLeft > byteCount else { throw CBORError(.unexpectedEnd, at: position) }
        var number: UInt64 = 0
        for index in position + 1...position + byteCount {
            number = unsafe number << 8 | UInt64(octets[index])
        }
        position += 1 + byteCount
        return number
    }

    @inlinable
    internal mutating func readOneOctetItem() throws(CBORError) {
        beginItem()
        position += 1
        try endItem()
    }

    /// Reads past a string's head and content and returns the content's range; nil if the length is indefinite.
    ///
    /// The item is not ended yet.
    internal mutating func readContent(_ major: MajorType) throws(CBORError) -> Range<Int>? {
        if try isIndefinite(major) { return nil }
        let start = position
        let count = try readHead(major)
        guard count <= UInt64(octetsLeft) else { throw CBORError(.unexpectedEnd, at: start) }
        let content = position..<(position + Int(count))
        position = content.upperBound
        return content
    }
}

// MARK: - Position in the structure

extension CBORReader {
    @inlinable
    internal mutating func beginItem() {
        if container.isKeyDue { container.keyStart = position }
    }

    /// Ends one item, and every container that it completes.
    @inlinable
    internal mutating func endItem() throws(CBORError) {
        if container.isKeyDue { try checkKey() }
        container.remaining -= 1
        if container.remaining == 0 { try leave() }
    }

    internal mutating func enter(_ inner: Container, at start: Int) throws(CBORError) {
        guard outer.count < limits.depth else { throw CBORError(.tooDeep, at: start) }
        outer.push(container)
        container = inner
        // What is left of an earlier container at this depth.
        if seenKeys.count >= outer.count { seenKeys.removeLast(seenKeys.count - outer.count + 1) }
        if inner.remaining == 0 { try leave() }
    }

    /// Leaves the complete container, which is an item of the one around it.
    @usableFromInline
    internal mutating func leave() throws(CBORError) {
        repeat {
            container = outer.pop()
            if container.isKeyDue { try checkKey() }
            container.remaining -= 1
        } while container.remaining == 0
    }

    /// RFC 8949, section 4.2.1: keys in bytewise lexicographic order of their encodings.
    @usableFromInline
    internal mutating func checkKey() throws(CBORError) {
        guard limits.isDeterministic else { return }
        let key = container.keyStart..<position
        if limits.allowsAnyKeyOrder { return try checkNew(key) }
        let previous = container.previousKey
        container.previousKey = key
        if previous.isEmpty { return }
        for index in 0..<min(previous.count, key.count) {
            let old = unsafe octets[previous.lowerBound + index]
            let new = unsafe octets[key.lowerBound + index]
            if old == new { continue }
            guard old < new else { throw CBORError(.keysOutOfOrder, at: key.lowerBound) }
            return
        }
        // No encoding is a prefix of another: without a difference the two keys are equal.
        throw CBORError(.duplicateKey, at: key.lowerBound)
    }

    /// Refuses a key that the map had already.
    private mutating func checkNew(_ key: Range<Int>) throws(CBORError) {
        while seenKeys.count < outer.count { seenKeys.append([]) }
        var encoding = unsafe [UInt8](octets[key])
        // Heads are the shortest, so that equal keys have equal encodings, except those that hold maps.
        if encoding[0] >> 5 > MajorType.text.rawValue {
            encoding = try CBORValue(decoding: encoding, limits: limits).encoded()
        }
        guard seenKeys[outer.count - 1].insert(encoding).inserted else {
            throw CBORError(.duplicateKey, at: key.lowerBound)
        }
    }
}

// MARK: - Content of strings

extension CBORReader {
    @inline(__always)
    internal func lend<R: ~Copyable, E: Error>(
        _ content: Range<Int>,
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        let octets = unsafe UnsafeRawBufferPointer(rebasing: octets[content])
        return try unsafe body(octets.assumingMemoryBound(to: UInt8.self).span)
    }

    internal func string(_ octets: Span<UInt8>, at start: Int) throws(CBORError) -> String {
        do {
            return String(copying: try UTF8Span(validating: octets))
        } catch {
            throw CBORError(.invalidUTF8, at: start)
        }
    }

    @inline(__always)
    internal func checkUTF8(_ content: Range<Int>) throws(CBORError) {
        try lend(content) { octets throws(CBORError) in
            do {
                _ = try UTF8Span(validating: octets)
            } catch {
                throw CBORError(.invalidUTF8, at: content.lowerBound)
            }
        }
    }
}
