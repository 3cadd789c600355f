internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// A recovery code: 128 random bits and 12 check bits, as 28 symbols of Crockford's base 32 in groups of four.
enum RecoveryCode {
    static let symbolCount = 28
    private static let secretByteCount = 16
    private static let symbols = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// Creates a code as text.
    static func make() -> SecretBytes {
        let secret = SecretBytes.random(count: secretByteCount)
        var text = SecretBuffer(minimumCapacity: symbolCount + 6)
        var bits: UInt32 = 0
        var bitCount = 0
        var written = 0
        func emit(_ octet: UInt8, _ width: Int, into text: inout SecretBuffer) {
            bits = bits << UInt32(width) | UInt32(octet)
            bitCount += width
            while bitCount >= 5 {
                bitCount -= 5
                if written > 0, written % 4 == 0 { text.append(UInt8(ascii: "-")) }
                text.append(symbols[Int(bits >> UInt32(bitCount)) & 31])
                written += 1
            }
            bits &= 31
        }
        secret.withOctets { octets in
            for index in octets.indices { emit(octets[index], 8, into: &text) }
            let check = check(of: octets)
            emit(UInt8(check >> 8), 4, into: &text)
            emit(UInt8(check & 0xFF), 8, into: &text)
        }
        return text.finish()
    }

    /// The 16 bytes of a code's text; nil if it was mistyped.
    ///
    /// Lower-case letters are accepted, O, I and L mean the digits they look like, spaces and hyphens are skipped.
    static func parse(_ text: borrowing SecretBytes) -> Key? {
        var octets = SecretBuffer(minimumCapacity: secretByteCount + 2)
        var bits: UInt32 = 0
        var bitCount = 0
        var read = 0
        let isWellFormed = text.withOctets { text in
            for index in text.indices {
                let octet = text[index]
                if octet == UInt8(ascii: "-") || octet == UInt8(ascii: " ") { continue }
                guard let value = value(of: octet), read < symbolCount else { return false }
                read += 1
                bits = bits << 5 | UInt32(value)
                bitCount += 5
                if bitCount >= 8, octets.count < secretByteCount {
                    bitCount -= 8
                    octets.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
                    bits &= (1 << UInt32(bitCount)) - 1
                }
            }
            return true
        }
        guard isWellFormed, read == symbolCount else { return nil }
        let expected = octets.withOctets { check(of: $0) }
        guard UInt16(bits) == expected else { return nil }
        return Key(octets.finish())
    }

    /// A code's symbols without the hyphens.
    static func symbols(of text: borrowing SecretBytes) -> SecretBytes {
        var symbols = SecretBuffer(minimumCapacity: symbolCount)
        text.withOctets { text in
            for index in text.indices where text[index] != UInt8(ascii: "-") { symbols.append(text[index]) }
        }
        return symbols.finish()
    }

    private static func value(of symbol: UInt8) -> Int? {
        let upper = symbol >= UInt8(ascii: "a") && symbol <= UInt8(ascii: "z") ? symbol - 32 : symbol
        switch upper {
        case UInt8(ascii: "O"): return 0
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
        default: return symbols.firstIndex(of: upper)
        }
    }

    private static func check(of octets: Span<UInt8>) -> UInt16 {
        SHA256.digest(ofSecret: octets).withOctets { UInt16($0[0]) << 4 | UInt16($0[1]) >> 4 }
    }
}
