/// The JSON Canonicalization Scheme (RFC 8785), for values without fractions.
///
/// Members are sorted by their names' UTF-16, without blanks, with as few escapes as possible.
public enum CanonicalJSON {
    /// A number with a fraction, or an integer that JavaScript cannot represent exactly: amounts belong in strings.
    public struct Unsupported: Error, Sendable, Equatable {}

    /// The largest integer up to which an IEEE 754 double represents every integer.
    public static let greatestInteger: Int64 = 1 << 53 - 1

    /// Encodes a value.
    public static func encode(_ value: JSONValue) throws(Unsupported) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        try append(value, to: &bytes)
        return bytes
    }

    private static func append(_ value: JSONValue, to bytes: inout [UInt8]) throws(Unsupported) {
        switch value {
        case .null: bytes += Array("null".utf8)
        case .bool(let flag): bytes += Array((flag ? "true" : "false").utf8)
        case .integer(let number):
            guard number.magnitude <= greatestInteger.magnitude else { throw Unsupported() }
            bytes += Array("\(number)".utf8)
        case .number: throw Unsupported()
        case .string(let text): append(text, to: &bytes)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                try append(value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object):
            bytes.append(UInt8(ascii: "{"))
            // For ASCII names the order is bytewise.
            let isPlain = object.members.allSatisfy { $0.name.utf8.allSatisfy { $0 < 0x80 } }
            let members = object.members.sorted {
                isPlain
                    ? $0.name < $1.name
                    : $0.name.utf16.lexicographicallyPrecedes($1.name.utf16)
            }
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                append(member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                try append(member.value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        defer { bytes.append(UInt8(ascii: "\"")) }
        func isPlain(_ byte: UInt8) -> Bool {
            byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
        }
        // A string's own bytes, where it has them in one piece: several times as fast as its view.
        if text.utf8.withContiguousStorageIfAvailable({ $0.allSatisfy(isPlain) })
            ?? text.utf8.allSatisfy(isPlain)
        {
            bytes.append(contentsOf: text.utf8)
            return
        }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x08: bytes += Array("\\b".utf8)
            case 0x09: bytes += Array("\\t".utf8)
            case 0x0A: bytes += Array("\\n".utf8)
            case 0x0C: bytes += Array("\\f".utf8)
            case 0x0D: bytes += Array("\\r".utf8)
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                bytes += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: bytes.append(byte)
            }
        }
    }
}
