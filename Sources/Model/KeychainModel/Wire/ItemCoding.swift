public import CBOR
import SecretMemory

/// The encoding of attributes, queries and secrets on the wire and in stored items.
///
/// An attribute's value is text, bytes, an integer, true or false; a date is an array of one integer, microseconds
/// since 1970.
extension CBORWriter where Sink: ~Copyable {
    /// Writes attributes as a map, keys in deterministic order.
    @inlinable
    public mutating func write(_ attributes: ItemAttributes) {
        writeMapHead(count: attributes.count)
        for (key, value) in attributes {
            write(text: key.rawValue)
            write(value)
        }
    }

    /// Writes the value of an attribute.
    @inlinable
    public mutating func write(_ value: AttributeValue) {
        switch value {
        case .string(let text): write(text: text)
        case .data(let octets): write(bytes: octets)
        case .integer(let number): write(number)
        case .boolean(let flag): write(flag)
        case .date(let microseconds):
            writeArrayHead(count: 1)
            write(microseconds)
        }
    }

    /// Writes `[class, attributes, limit, returns, references, authentication UI]`; limit 0 is all, -1 is one.
    mutating func write(_ query: ItemQuery) {
        writeArrayHead(count: 6)
        if let itemClass = query.itemClass { write(text: itemClass.rawValue) } else { writeNull() }
        write(query.attributes)
        switch query.limit {
        case .one: write(Int64(-1))
        case .all: write(Int64(0))
        case .count(let count): write(Int64(count))
        }
        write(unsigned: UInt64(query.returns.rawValue))
        writeArrayHead(count: query.references.count)
        for reference in query.references { write(bytes: reference.octets) }
        write(unsigned: UInt64(query.authenticationUI.rawValue))
    }

    /// Writes a secret's bytes, or null.
    mutating func write(optionalSecret secret: borrowing SecretBytes?) {
        switch secret {
        case .some(let octets): octets.withOctets { write(bytes: $0) }
        case .none: writeNull()
        }
    }
}

extension ItemAttributes {
    /// Refuses attributes that an item or a query may not have: one rule for the client, which says so before it sends
    /// them, and for the store.
    ///
    /// - Throws: ``KeychainError`` with `errSecParam` for too many, `errSecNoSuchAttr` for a name that no attribute has,
    ///   and `errSecDataTooLarge` for a value that is too long.
    public func checkLimits() throws(KeychainError) {
        guard count <= ItemLimits.mostAttributes else { throw KeychainError(.param) }
        for (key, value) in self {
            guard key.rawValue.utf8.count <= 32, key.rawValue.utf8.allSatisfy({ $0 < 0x80 }) else {
                throw KeychainError(.noSuchAttr)
            }
            let length =
                switch value {
                case .string(let text): text.utf8.count
                case .data(let octets): octets.count
                case .integer, .boolean, .date: 0
                }
            guard length <= ItemLimits.longestAttribute else { throw KeychainError(.dataTooLarge) }
        }
    }
}

extension CBORReader {
    /// Reads attributes, within ``ItemLimits``.
    public mutating func readAttributes() throws -> ItemAttributes {
        let count = try readAttributeCount()
        var attributes = ItemAttributes(minimumCapacity: count)
        try readAttributes(count) { attributes[$0] = $1 }
        return attributes
    }

    /// Reads attributes, within ``ItemLimits``, and passes them to `body` one by one.
    public mutating func readAttributes(_ body: (AttributeKey, AttributeValue) -> Void) throws {
        try readAttributes(try readAttributeCount(), body)
    }

    private mutating func readAttributeCount() throws -> Int {
        let count = try readMapHead()
        guard count <= ItemLimits.mostReadAttributes else { throw WireError.malformed }
        return count
    }

    private mutating func readAttributes(
        _ count: Int,
        _ body: (AttributeKey, AttributeValue) -> Void
    ) throws {
        for _ in 0..<count {
            let key = try readText()
            // Apple's names are ASCII; other names could be equal as text but differ in bytes.
            guard key.utf8.count <= 32, key.utf8.allSatisfy({ $0 < 0x80 }) else { throw WireError.malformed }
            body(AttributeKey(rawValue: key), try readAttributeValue())
        }
    }

    /// Reads past attributes, with the same checks as ``readAttributes()``.
    ///
    /// - Returns: their range in the message.
    public mutating func skipAttributes() throws -> Range<Int> {
        let start = offset
        for _ in 0..<(try readAttributeCount()) {
            let key = try skipText()
            guard key.count <= 32, isASCII(key) else { throw WireError.malformed }
            try skipAttributeValue()
        }
        return start..<offset
    }

    private mutating func skipAttributeValue() throws {
        switch try peekType() {
        case .text:
            guard try skipText().count <= ItemLimits.longestAttribute else { throw WireError.malformed }
        case .bytes:
            guard try skipBytes().count <= ItemLimits.longestAttribute else { throw WireError.malformed }
        case .unsigned, .negative: _ = try readInteger()
        case .bool: _ = try readBool()
        case .array:
            try readFields(1)
            _ = try readInteger()
        default: throw WireError.malformed
        }
    }

    private mutating func readAttributeValue() throws -> AttributeValue {
        switch try peekType() {
        case .text:
            let text = try readText()
            guard text.utf8.count <= ItemLimits.longestAttribute else { throw WireError.malformed }
            return .string(text)
        case .bytes:
            let octets = try readBytes()
            guard octets.count <= ItemLimits.longestAttribute else { throw WireError.malformed }
            return .data(octets)
        case .unsigned, .negative: return .integer(try readInteger())
        case .bool: return .boolean(try readBool())
        case .array:
            try readFields(1)
            return .date(try readInteger())
        default: throw WireError.malformed
        }
    }

    mutating func readItemClass() throws -> ItemClass {
        guard let itemClass = ItemClass(rawValue: try readText()) else { throw KeychainError(.noSuchClass) }
        return itemClass
    }

    mutating func readReturns() throws -> ItemQuery.Returns {
        guard let bits = UInt8(exactly: try readUnsigned()) else { throw WireError.malformed }
        let returns = ItemQuery.Returns(rawValue: bits)
        guard returns.isSubset(of: .known) else { throw WireError.malformed }
        return returns
    }

    /// Reads a query that ``CBORWriter/write(_:)-query`` wrote.
    mutating func readQuery() throws -> ItemQuery {
        try readFields(6)
        let itemClass = try readOptional { try $0.readItemClass() }
        let attributes = try readAttributes()
        let limit: ItemQuery.Limit
        switch try readInteger() {
        case -1: limit = .one
        case 0: limit = .all
        case let count where count > 0: limit = .count(Int(count))
        default: throw WireError.malformed
        }
        let returns = try readReturns()
        let referenceCount = try readArrayHead()
        guard referenceCount <= ItemLimits.mostReferences else { throw WireError.malformed }
        var references: [PersistentReference] = []
        for _ in 0..<referenceCount {
            guard let reference = PersistentReference(octets: try readBytes()) else {
                throw WireError.malformed
            }
            references.append(reference)
        }
        guard let bits = UInt8(exactly: try readUnsigned()),
            let authenticationUI = ItemQuery.AuthenticationUI(rawValue: bits)
        else { throw WireError.malformed }
        return ItemQuery(
            itemClass: itemClass,
            attributes: attributes,
            limit: limit,
            returns: returns,
            references: references,
            authenticationUI: authenticationUI
        )
    }

    /// Reads bytes into locked memory that is wiped, or null.
    mutating func readOptionalSecret() throws -> SecretBytes? {
        if try readNullIfPresent() { return nil }
        return try readBytes { (octets: Span<UInt8>) throws(KeychainError) -> SecretBytes in
            guard octets.count <= ItemLimits.longestData else { throw KeychainError(.dataTooLarge) }
            return try SecretBytes(received: octets)
        }
    }
}

extension SecretBytes {
    /// Copies received bytes.
    ///
    /// - Throws: ``KeychainError`` with `errSecAllocate`.
    init(received octets: Span<UInt8>) throws(KeychainError) {
        do throws(SecretMemoryError) {
            try self.init(lockedCopy: octets)
        } catch {
            throw KeychainError(error)
        }
    }
}
