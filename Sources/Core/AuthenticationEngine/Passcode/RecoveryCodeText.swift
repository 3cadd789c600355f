import SecretMemory

/// Converts typed recovery codes to their canonical form.
///
/// Crockford's base 32: case is ignored, O means 0, I and L mean 1, dashes and spaces are skipped.
enum RecoveryCodeText {
    private static let groupLength = 4

    /// Symbols in upper case, in groups of four with a dash between; other characters stay, so that the code is refused.
    static func canonical(_ typed: borrowing SecretBytes) -> SecretBytes {
        var text = SecretBuffer(minimumCapacity: typed.count * 5 / 4 + 1)
        typed.withOctets { octets in
            var symbols = 0
            for index in octets.indices where !isSeparator(octets[index]) {
                if symbols > 0, symbols.isMultiple(of: groupLength) { text.append(UInt8(ascii: "-")) }
                text.append(symbol(octets[index]))
                symbols += 1
            }
        }
        return text.finish()
    }

    private static func isSeparator(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "-"), UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"):
            true
        default: false
        }
    }

    private static func symbol(_ octet: UInt8) -> UInt8 {
        let upper = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(octet) ? octet - 0x20 : octet
        switch upper {
        case UInt8(ascii: "O"): return UInt8(ascii: "0")
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return UInt8(ascii: "1")
        default: return upper
        }
    }
}
