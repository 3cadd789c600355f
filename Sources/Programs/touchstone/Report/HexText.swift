/// Bytes in hexadecimal.
enum HexText {
    /// Two lower-case digits for each byte.
    static func of(_ octets: [UInt8]) -> String {
        octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The bytes of an even number of digits; nil for other text.
    static func octets(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var octets: [UInt8] = []
        for start in stride(from: 0, to: digits.count, by: 2) {
            let pair = String(decoding: digits[start..<start + 2], as: UTF8.self)
            guard pair.allSatisfy(\.isHexDigit), let octet = UInt8(pair, radix: 16) else { return nil }
            octets.append(octet)
        }
        return octets
    }
}
