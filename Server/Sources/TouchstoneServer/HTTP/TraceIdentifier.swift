internal import SecureRandom

/// The identifier of a request in the log, the response and the audit record: 32 hexadecimal digits (W3C Trace
/// Context).
enum TraceIdentifier {
    /// The client's trace id from `traceparent`, or a new one.
    static func of(traceParent: String?) -> String {
        if let parts = traceParent?.split(separator: "-", omittingEmptySubsequences: false), parts.count >= 4,
            parts[0].utf8.count == 2, parts[1].utf8.count == 32,
            parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }),
            parts[1].contains(where: { $0 != "0" })
        {
            return String(parts[1])
        }
        return Random.bytes(16).hexadecimal
    }
}

/// Cryptographically secure random bytes.
enum Random {
    static func bytes(_ count: Int) -> [UInt8] { SecureRandom.bytes(count) }
}

extension Sequence<UInt8> {
    /// Two lowercase digits per byte.
    var hexadecimal: String {
        let digits: StaticString = "0123456789abcdef"
        var text: [UInt8] = []
        text.reserveCapacity(underestimatedCount * 2)
        for byte in self {
            text.append(digits.utf8Start[Int(byte >> 4)])
            text.append(digits.utf8Start[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension [UInt8] {
    /// The bytes that pairs of digits stand for; nil: there are other characters, or half a pair.
    init?(hexadecimal text: String) {
        let digits = text.compactMap { $0.isASCII ? $0.hexDigitValue : nil }
        guard digits.count == text.count, digits.count % 2 == 0 else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
