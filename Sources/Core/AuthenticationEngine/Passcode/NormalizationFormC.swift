import SecretMemory
@_spi(_Unicode) import Swift

/// Unicode's Normalization Form C (UAX #15), so that one passcode typed on two keyboards is the same passcode.
///
/// The text is cut wherever a character does not combine with the preceding one, so that a `String` never holds more than
/// one character with its marks: short enough to live on the stack, which is wiped. ASCII text, and bytes that are not
/// UTF-8, stay as typed.
enum NormalizationFormC {
    static func of(_ text: consuming SecretBytes) -> SecretBytes {
        let isPlain = text.withOctets { octets in octets.indices.allSatisfy { octets[$0] < 0x80 } }
        if isPlain { return text }
        var normalized = SecretBuffer(minimumCapacity: text.count)
        text.withOctets { octets in
            LockedStack.wiping {
                var start = 0
                while start < octets.count {
                    // An ASCII byte never combines with the preceding character.
                    var end = start + 1
                    while end < octets.count, octets[end] >= 0x80 { end += 1 }
                    append(octets.extracting(start..<end), to: &normalized)
                    start = end
                }
            }
        }
        return normalized.finish()
    }

    private static func append(_ octets: Span<UInt8>, to normalized: inout SecretBuffer) {
        guard octets.count > 1, let text = try? UTF8Span(validating: octets) else {
            return normalized.append(contentsOf: octets)
        }
        var scalars = text.makeUnicodeScalarIterator()
        var piece = ""
        while let scalar = scalars.next() {
            if !piece.isEmpty, !joins(scalar) {
                append(piece, to: &normalized)
                piece = ""
            }
            piece.unicodeScalars.append(scalar)
        }
        append(piece, to: &normalized)
    }

    private static func append(_ piece: String, to normalized: inout SecretBuffer) {
        for scalar in piece._nfc {
            for octet in String(scalar).utf8 { normalized.append(octet) }
        }
    }

    /// Whether a character may combine or be reordered with the preceding one (UAX #15, 9.1): marks, the vowels and final
    /// consonants of a Hangul syllable, and the vowel signs of Kirat Rai.
    static func joins(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1161...0x1175, 0x11A8...0x11C2, 0x16D63, 0x16D67...0x16D6A: true
        default:
            scalar.properties.canonicalCombiningClass != .notReordered || scalar.properties.isGraphemeExtend
        }
    }
}
