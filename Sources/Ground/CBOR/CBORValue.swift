/// Any CBOR item as a value, for data without a schema: extensions, attestation statements, tests.
///
/// Floats compare as `Double` does: `NaN` differs from itself.
public enum CBORValue: Sendable, Hashable {
    /// An unsigned integer.
    case unsigned(UInt64)
    /// The integer -1 - n.
    case negative(UInt64)
    /// A byte string.
    case bytes([UInt8])
    /// A text string.
    case text(String)
    /// An array.
    case array([CBORValue])
    /// A map, its pairs in the order in which they were read or given.
    case map([CBORPair])
    /// A tagged item.
    indirect case tag(UInt64, CBORValue)
    /// A simple value other than false, true, null and undefined.
    case simple(UInt8)
    /// False or true.
    case bool(Bool)
    /// Null.
    case null
    /// Undefined.
    case undefined
    /// A floating-point number.
    case float(Double)
}

/// One key of a map and its value.
public struct CBORPair: Sendable, Hashable {
    /// The key.
    public var key: CBORValue
    /// The value.
    public var value: CBORValue

    /// Pairs a key with a value.
    public init(_ key: CBORValue, _ value: CBORValue) {
        self.key = key
        self.value = value
    }
}

extension CBORValue {
    /// An integer of either sign.
    public static func integer(_ value: Int64) -> CBORValue {
        value >= 0 ? .unsigned(UInt64(bitPattern: value)) : .negative(UInt64(bitPattern: ~value))
    }

    /// Decodes one item and nothing after it.
    ///
    /// - Parameters:
    ///   - octets: the encoded item.
    ///   - limits: what is accepted.
    /// - Throws: ``CBORError`` with the offset of the refused item.
    public init(decoding octets: [UInt8], limits: CBORLimits = .init()) throws(CBORError) {
        self = try CBORReader.read(octets, limits: limits) { reader throws(CBORError) in
            try reader.readValue()
        }
    }

    /// The deterministic encoding (RFC 8949, section 4.2.1); a map's pairs are sorted for it.
    ///
    /// A map must not have the same key twice: a reader would refuse the bytes.
    public func encoded() -> [UInt8] {
        var writer = CBORWriter([UInt8]())
        write(to: &writer)
        return writer.finish()
    }

    /// Writes the deterministic encoding into a larger message.
    public func write<Sink: CBORSink & ~Copyable>(to writer: inout CBORWriter<Sink>) {
        switch self {
        case .unsigned(let number): writer.write(unsigned: number)
        case .negative(let number): writer.writeHead(0x20, number)
        case .bytes(let octets): writer.write(bytes: octets)
        case .text(let text): writer.write(text: text)
        case .array(let items):
            writer.writeArrayHead(count: items.count)
            for item in items { item.write(to: &writer) }
        case .map(let pairs):
            writer.writeMapHead(count: pairs.count)
            let encoded = pairs.map { (key: $0.key.encoded(), value: $0.value) }
            for pair in encoded.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                writer.writeRaw(pair.key)
                pair.value.write(to: &writer)
            }
        case .tag(let number, let item):
            writer.writeTag(number)
            item.write(to: &writer)
        case .simple(let number): writer.write(simple: number)
        case .bool(let flag): writer.write(flag)
        case .null: writer.writeNull()
        case .undefined: writer.write(simple: 23)
        case .float(let number): writer.write(number)
        }
    }
}
