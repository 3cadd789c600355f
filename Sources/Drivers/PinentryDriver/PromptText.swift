/// Text for a prompt, made from text of other programs.
///
/// Text from an app, a file name or a driver is shown on one line, without control, format, private or unassigned
/// characters, which could move the cursor, change the writing direction or hide text.
enum PromptText {
    /// The longest reason, in characters.
    static let largestReasonCount = 200
    /// The longest name of a program, in characters.
    static let largestRequesterCount = 120
    /// The longest heading, error or instruction of Touchstone's own, in characters.
    static let largestHeadingCount = 160
    /// The longest title of a button, in characters.
    static let largestTitleCount = 40
    /// The most bytes of each of these except the reason: all of them together fit into one Assuan line.
    static let largestByteCount = 160

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
        line(text, characters: largestHeadingCount, octets: largestByteCount)
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

    /// Breaks a line at spaces into lines of at most `columns` characters; a longer word stays whole.
    static func broken(_ line: String, columns: Int) -> String {
        var text = ""
        var used = 0
        for word in line.split(separator: " ") {
            if used > 0 {
                let fits = used + 1 + word.count <= columns
                text += fits ? " " : "\n"
                used = fits ? used + 1 : 0
            }
            text += word
            used += word.count
        }
        return text
    }

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
    ///   - taken: the key of the other button, in lower case.
    /// - Returns: the title, and its key in lower case if it has one.
    static func button(_ text: String, avoiding taken: Character? = nil) -> (title: String, key: Character?) {
        var title = ""
        var key: Character?
        for character in line(text, characters: largestTitleCount, octets: largestByteCount) {
            if key == nil, character.isASCII, character.isLetter,
                character.lowercased() != taken?.lowercased()
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
