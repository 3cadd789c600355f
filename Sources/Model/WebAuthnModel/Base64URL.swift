/// Base64url without padding (RFC 4648, section 5), as WebAuthn writes all bytes in JSON (Level 3, section 3).
public enum Base64URL {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )

    /// The value of each character of the alphabet; 255 for all others.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    /// Encodes bytes.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        bytes.withContiguousStorageIfAvailable { encode(contiguous: $0) }
            ?? Array(bytes).withUnsafeBufferPointer { encode(contiguous: $0) }
    }

    private static func encode(contiguous bytes: UnsafeBufferPointer<UInt8>) -> String {
        alphabet.withUnsafeBufferPointer { alphabet in
            String(unsafeUninitializedCapacity: (bytes.count * 4 + 2) / 3) { text in
                var count = 0
                var bits: UInt32 = 0
                var bitCount: UInt32 = 0
                for byte in bytes {
                    bits = bits << 8 | UInt32(byte)
                    bitCount += 8
                    while bitCount >= 6 {
                        bitCount -= 6
                        text[count] = alphabet[Int(bits >> bitCount & 63)]
                        count += 1
                    }
                }
                if bitCount > 0 {
                    text[count] = alphabet[Int(bits << (6 - bitCount) & 63)]
                    count += 1
                }
                return count
            }
        }
    }

    /// Decodes text, of which each byte string has exactly one.
    ///
    /// Nil if a character is not in the alphabet (as padding is not), the length is impossible, or unused bits are
    /// set.
    public static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { characters in
            guard characters.count % 4 != 1 else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(characters.count * 3 / 4)
            var bits: UInt32 = 0
            var bitCount = 0
            for character in characters {
                let value = values[Int(character)]
                guard value != 255 else { return nil }
                bits = bits << 6 | UInt32(value)
                bitCount += 6
                if bitCount >= 8 {
                    bitCount -= 8
                    bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
                }
            }
            guard bits & (1 << UInt32(bitCount) - 1) == 0 else { return nil }
            return bytes
        }
    }
}
