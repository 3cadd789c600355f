import SecretMemory
@_spi(_Unicode) import Swift

/// Unicode's Normalization Form C (UAX #15), so that one passcode typed on two keyboards is one passcode.
///
/// An ASCII octet never joins with what stands before it, so the text is cut there: only pieces with other
/// characters become strings, one at a time and mostly short enough to live on the stack. Texts of ASCII alone, and
/// octets that are no UTF-8, are taken as typed.
enum NormalizationFormC {
    static func of(_ text: consuming SecretBytes) -> SecretBytes {
        let isPlain = text.withOctets { octets in octets.indices.allSatisfy { octets[$0] < 0x80 } }
        if isPlain { return text }
        var normalized = SecretBuffer(minimumCapacity: text.count)
        text.withOctets { octets in
            var start = 0
            while start < octets.count {
                var end = start + 1
                while end < octets.count, octets[end] >= 0x80 { end += 1 }
                append(octets.extracting(start..<end), to: &normalized)
                start = end
            }
        }
        return normalized.finish()
    }

    private static func append(_ piece: Span<UInt8>, to normalized: inout SecretBuffer) {
        var octets: [UInt8] = []
        octets.reserveCapacity(piece.count)
        for index in piece.indices { octets.append(piece[index]) }
        defer { wipe(&octets) }
        guard octets.count > 1, let string = String(validating: octets, as: UTF8.self) else {
            return normalized.append(contentsOf: piece)
        }
        for scalar in string._nfc {
            for octet in String(scalar).utf8 { normalized.append(octet) }
        }
    }
}
