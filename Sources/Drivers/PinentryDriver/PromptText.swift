import KeychainModel

/// Text for a prompt, made from text of other programs.
///
/// Text from an app, a file name or a driver is shown on one line, without control, format, private or unassigned
/// characters, which could move the cursor, change the writing direction or hide text.
enum PromptText {
    /// The longest name of a program, in characters.
    static let largestRequesterCount = 120
    /// The longest heading, error or instruction of Touchstone's own, in characters.
    static let largestHeadingCount = 160
    /// The longest title of a button, in characters.
    static let largestTitleCount = PromptDetails.longestButton
    /// The most bytes of a program's name and of a button's title: with heading and error they fit into one Assuan line.
    static let largestByteCount = 160
    /// The most bytes of a heading, error or instruction, for languages with three bytes a character.
    static let largestHeadingByteCount = 220

    /// Characters with more combining marks than this are replaced.
    private static let largestCharacterByteCount = 32
    /// How many bytes of the text are examined: enough for every limit above.
    private static let largestCleanByteCount = 8192

    /// One line of at most `characters` characters and `octets` escaped bytes; an ellipsis marks a cut.
    static func line(_ text: String, characters: Int, octets: Int = .max) -> String {
        var line = ""
        var count = 0
        var used = 0
        // Where the line is cut if necessary: there is room for the ellipsis.
        var cut = line.startIndex
        for character in cleaned(text) {
            let shown = character.utf8.count > largestCharacterByteCount ? "\u{FFFD}" : character
            // `%` is the only character left that is escaped, to three bytes; it may carry marks.
            let size = shown.utf8.count + 2 * shown.utf8.count { $0 == UInt8(ascii: "%") }
            guard count < characters, used + size <= octets else {
                return String(line[..<cut]) + (octets >= ellipsis.utf8.count ? ellipsis : "")
            }
            line.append(shown)
            count += 1
            used += size
            if count < characters, used + ellipsis.utf8.count <= octets { cut = line.endIndex }
        }
        return line
    }

    /// A heading or an error of Touchstone's own, which may quote other text.
    static func ofOurs(_ text: String) -> String {
        line(text, characters: largestHeadingCount, octets: largestHeadingByteCount)
    }

    /// The name of a program.
    static func requester(_ text: String) -> String {
        line(text, characters: largestRequesterCount, octets: largestByteCount)
    }

    /// The label of a field.
    static func label(_ text: String) -> String {
        line(text, characters: largestTitleCount, octets: largestByteCount)
    }

    /// The text in ASCII, in no more bytes: a Latin letter loses its marks, punctuation becomes what is nearest to it, and
    /// `?` stands for anything else.
    static func ascii(_ text: String) -> String {
        var ascii = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case _ where scalar.isASCII: ascii.unicodeScalars.append(scalar)
            case "\u{2026}": ascii += "..."
            case "\u{2018}", "\u{2019}": ascii += "'"
            case "\u{AB}", "\u{BB}", "\u{201C}"..."\u{201E}": ascii += "\""
            case "\u{2010}"..."\u{2015}": ascii += "-"
            case _ where scalar.properties.generalCategory == .nonspacingMark: break
            default: ascii += latinLetter(scalar) ?? "?"
            }
        }
        return ascii
    }

    /// The letter in a name such as `LATIN SMALL LETTER U WITH DIAERESIS`, `… LETTER DOTLESS I` or `… LIGATURE OE`; nil for
    /// another character.
    private static func latinLetter(_ scalar: Unicode.Scalar) -> String? {
        let words = (scalar.properties.name ?? "").split(separator: " ")
        guard words.count > 3, words[0] == "LATIN", ["LETTER", "LIGATURE"].contains(words[2])
        else { return nil }
        let letter = words[3...].first { !["DOTLESS", "SHARP", "LONG"].contains($0) }
        guard let letter, letter.count <= 2 else { return nil }
        return words[1] == "SMALL" ? letter.lowercased() : String(letter)
    }

    /// Breaks a line into lines of at most `columns` columns: at spaces, and within a word that is longer.
    ///
    /// - Parameters:
    ///   - line: the line, without a line end.
    ///   - columns: the columns of the terminal; at least 20.
    ///   - indent: what stands before each line but the first, so that none of them can pass for a line of its own.
    /// - Returns: the lines.
    static func broken(_ line: String, columns: Int, indent: String = "") -> String {
        var text = ""
        var used = 0
        func breakLine() {
            text += "\n" + indent
            used = indent.count
        }
        for word in line.split(separator: " ") {
            let width = self.columns(of: word)
            if used > 0 {
                if used + 1 + width <= columns {
                    text += " "
                    used += 1
                } else {
                    breakLine()
                }
            }
            for character in word {
                let width = self.columns(of: character)
                if used + width > columns { breakLine() }
                text.append(character)
                used += width
            }
        }
        return text
    }

    /// The columns of a text on a terminal.
    static func columns(of text: some StringProtocol) -> Int {
        text.reduce(0) { $0 + columns(of: $1) }
    }

    /// The columns of a character on a terminal: two for the wide ones of Unicode's Standard Annex 11, and for emoji.
    static func columns(of character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    /// Blocks of wide characters: Hangul, CJK, Kana, Yi, full-width forms, emoji, and the supplementary ideographs.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3,
        0xF900...0xFAFF, 0xFE30...0xFE6B, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F,
        0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD,
    ]

    private static let ellipsis = "\u{2026}"

    /// The visible characters only, with each run of white space as one space and none at either end.
    private static func cleaned(_ text: String) -> String {
        var clean = ""
        var isSpaceDue = false
        for scalar in text.unicodeScalars {
            guard clean.utf8.count < largestCleanByteCount else { break }
            if scalar.properties.isWhitespace || blanks.contains(scalar) {
                isSpaceDue = !clean.isEmpty
            } else if isShown(scalar) {
                if isSpaceDue { clean.append(" ") }
                isSpaceDue = false
                clean.unicodeScalars.append(scalar)
            }
        }
        return clean
    }

    /// Symbols that are drawn blank but are not Unicode white space: the Braille pattern without dots, and musical
    /// notation's null note head.
    private static let blanks: Set<Unicode.Scalar> = ["\u{2800}", "\u{1D159}"]

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
            false
        default: !scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// A button's title with its key marked by `_`, as pinentry expects.
    ///
    /// - Parameters:
    ///   - text: the title; an underscore in it is shown as such.
    ///   - taken: the keys of the other buttons.
    /// - Returns: the title, and its key in lower case if it has one.
    static func button(_ text: String, avoiding taken: Character?...) -> (title: String, key: Character?) {
        let taken = taken.map { $0?.lowercased() }
        var title = ""
        var key: Character?
        for character in line(text, characters: largestTitleCount, octets: largestByteCount) {
            if key == nil, character.isASCII, character.isLetter,
                !taken.contains(character.lowercased())
            {
                key = Character(character.lowercased())
                title.append("_")
            } else if character == "_" {
                title.append("_")
            }
            title.append(character)
        }
        return (title, key)
    }
}
