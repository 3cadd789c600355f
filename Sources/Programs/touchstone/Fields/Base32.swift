/// Base32 (RFC 4648, section 6), as apps and sites show a key.
enum Base32 {
    static func isDigit(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "2")...UInt8(ascii: "7"):
            true
        default: false
        }
    }

    /// Blanks, hyphens and padding.
    static func isFiller(_ octet: UInt8) -> Bool {
        octet == UInt8(ascii: " ") || octet == UInt8(ascii: "-") || octet == UInt8(ascii: "=")
    }
}
