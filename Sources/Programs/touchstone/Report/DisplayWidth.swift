/// The number of terminal columns of a text, as wcwidth(3) counts them, independent of the locale.
enum DisplayWidth {
    /// The columns of `text`, which has no control characters.
    static func of(_ text: String) -> Int {
        // Letters with marks and composed emoji are one character; its widest part is its width.
        text.reduce(0) { $0 + ($1.unicodeScalars.map(columns).max() ?? 0) }
    }

    private static func columns(_ scalar: Unicode.Scalar) -> Int {
        if scalar.value < 0x300 { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        if scalar.properties.isEmojiPresentation { return 2 }
        return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    /// East Asian Width W and F (Unicode 15, EastAsianWidth.txt), in blocks.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97C,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6B, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
        0x16FE0...0x18CFF, 0x18D00...0x18D08, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x2FFFD,
        0x30000...0x3FFFD,
    ]
}
