/// The identifier of a request in log, answer and audit record: 32 hexadecimal digits (W3C Trace Context).
enum TraceIdentifier {
    /// The one that the client brought in `traceparent`, else a new one.
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

/// Bytes that nobody can guess.
enum Random {
    static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}

extension Sequence<UInt8> {
    /// Two lower-case digits a byte.
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
