// Items of any type: skipped, located in place, or decoded to a value.

extension CBORReader {
    /// Reads past one item with all it contains, which is checked like everything else.
    public mutating func skipValue() throws(CBORError) {
        let depth = outer.count
        repeat { try skipItemOrHead() } while outer.count > depth
    }

    /// Reads past a byte string of definite length and returns the range of its bytes in the message.
    public mutating func skipBytes() throws(CBORError) -> Range<Int> {
        let start = position
        guard let content = try readContent(.bytes) else { throw CBORError(.indefiniteLength, at: start) }
        try endItem()
        return content
    }

    /// Reads past a text string of definite length, checked like any other, and returns the range of its bytes.
    public mutating func skipText() throws(CBORError) -> Range<Int> {
        let start = position
        guard let content = try readContent(.text) else { throw CBORError(.indefiniteLength, at: start) }
        try checkUTF8(content)
        try endItem()
        return content
    }

    /// Whether all bytes in a part of the message that has been read are ASCII.
    @inlinable
    @inline(__always)
    public func isASCII(_ range: Range<Int>) -> Bool {
        precondition(range.lowerBound >= 0 && range.upperBound <= position, "not read yet")
        return unsafe UnsafeRawBufferPointer(rebasing: octets[range]).allSatisfy { $0 < 0x80 }
    }

    /// Reads one item of any type.
    public mutating func readValue() throws(CBORError) -> CBORValue {
        switch try peekType() {
        case .unsigned: return .unsigned(try readUnsigned())
        case .negative:
            let number = try readHead(.negative)
            try endItem()
            return .negative(number)
        case .bytes: return .bytes(try readBytes())
        case .text: return .text(try readText())
        case .array: return .array(try readArray())
        case .map: return .map(try readMap())
        case .tag:
            let number = try readTag()
            return .tag(number, try readValue())
        case .bool: return .bool(try readBool())
        case .null:
            try readNull()
            return .null
        case .undefined, .simple:
            let number = try readSimple()
            return number == 23 ? .undefined : .simple(number)
        case .float: return .float(try readDouble())
        }
    }
}

// MARK: - One type each

extension CBORReader {
    /// How many items a declared count may reserve at once; more room is reserved only as items are read.
    internal static let greatestReservation = 64

    internal mutating func readArray() throws(CBORError) -> [CBORValue] {
        var items: [CBORValue] = []
        if try enterIndefinite(.array, .indefiniteArray) {
            while try !leaveAtBreak() { items.append(try readValue()) }
        } else {
            let count = try readArrayHead()
            items.reserveCapacity(min(count, Self.greatestReservation))
            for _ in 0..<count { items.append(try readValue()) }
        }
        return items
    }

    internal mutating func readMap() throws(CBORError) -> [CBORPair] {
        var pairs: [CBORPair] = []
        if try enterIndefinite(.map, .indefiniteMap) {
            while try !leaveAtBreak() { pairs.append(CBORPair(try readValue(), try readValue())) }
        } else {
            let count = try readMapHead()
            pairs.reserveCapacity(min(count, Self.greatestReservation))
            for _ in 0..<count { pairs.append(CBORPair(try readValue(), try readValue())) }
        }
        return pairs
    }

    /// Reads a simple value other than false, true and null by its number.
    internal mutating func readSimple() throws(CBORError) -> UInt8 {
        let start = position
        guard limits.allowsAllSimpleValues else { throw CBORError(.simpleValueNotAllowed, at: start) }
        let initial = try peek()
        beginItem()
        var number = initial & 0x1F
        if number == 24 {
            number = UInt8(truncatingIfNeeded: try readFixed(byteCount: 1))
            // RFC 8949, section 3.3: the long form is for 32 and above only.
            guard number >= 32 else { throw CBORError(.notWellFormed, at: start) }
        } else {
            position += 1
        }
        try endItem()
        return number
    }

    internal mutating func skipItemOrHead() throws(CBORError) {
        if try leaveAtBreak() { return }
        switch try peekType() {
        case .unsigned: _ = try readUnsigned()
        case .negative:
            _ = try readHead(.negative)
            try endItem()
        case .bytes: try skipString(.bytes)
        case .text: try skipString(.text)
        case .array: if try !enterIndefinite(.array, .indefiniteArray) { _ = try readArrayHead() }
        case .map: if try !enterIndefinite(.map, .indefiniteMap) { _ = try readMapHead() }
        case .tag: _ = try readTag()
        case .bool: _ = try readBool()
        case .null: try readNull()
        case .undefined, .simple: _ = try readSimple()
        case .float: _ = try readDouble()
        }
    }

    internal mutating func skipString(_ major: MajorType) throws(CBORError) {
        guard let content = try readContent(major) else {
            _ = try readChunks(major)
            return
        }
        if major == .text { try checkUTF8(content) }
        try endItem()
    }
}

// MARK: - Indefinite lengths (well-formed form only)

extension CBORReader {
    internal static let breakStopCode: UInt8 = 0xFF

    @inline(__always)
    internal func isIndefinite(_ major: MajorType) throws(CBORError) -> Bool {
        if limits.isDeterministic { return false }
        return try peek() == major.rawValue << 5 | 0x1F
    }

    /// Enters an array or map of indefinite length; false, with nothing read, if the length is definite.
    internal mutating func enterIndefinite(
        _ major: MajorType,
        _ kind: Container.Kind
    ) throws(CBORError) -> Bool {
        guard try isIndefinite(major) else { return false }
        beginItem()
        position += 1
        // Even, so that a map begins with a key, and larger than any message.
        try enter(Container(remaining: Int.max - 1, kind: kind), at: position - 1)
        return true
    }

    /// Reads a break stop code that ends the container; false if an item follows instead.
    internal mutating func leaveAtBreak() throws(CBORError) -> Bool {
        guard container.kind == .indefiniteArray || container.kind == .indefiniteMap else { return false }
        guard try peek() == Self.breakStopCode else { return false }
        guard container.kind == .indefiniteArray || container.isKeyDue else {
            throw CBORError(.unexpectedBreak, at: position)
        }
        position += 1
        try leave()
        return true
    }

    /// A string of indefinite length: definite chunks of its own type up to a break stop code.
    internal mutating func readChunks(_ major: MajorType) throws(CBORError) -> [UInt8] {
        beginItem()
        position += 1
        // The chunks are not items of the container: the whole string counts as one.
        var whole: [UInt8] = []
        while try peek() != Self.breakStopCode {
            let start = position
            guard try peek() >> 5 == major.rawValue, try !isIndefinite(major) else {
                throw CBORError(.notWellFormed, at: start)
            }
            let information = try peek() & 0x1F
            var count = UInt64(information)
            if information < 24 { position += 1 } else { count = try readArgument(information, major) }
            guard count <= UInt64(octetsLeft) else { throw CBORError(.unexpectedEnd, at: start) }
            let chunk = position..<(position + Int(count))
            position = chunk.upperBound
            if major == .text { try checkUTF8(chunk) }
            unsafe whole.append(contentsOf: octets[chunk])
        }
        position += 1
        try endItem()
        return whole
    }
}
