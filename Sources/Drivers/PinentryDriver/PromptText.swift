/// Text for a box, out of text that others chose.
///
/// What an app, a file name or a driver says is shown on one line, without anything that could move the cursor,
/// turn the direction of writing or hide: no control, format, private or unassigned characters.
enum PromptText {
    /// The longest reason, in characters.
    static let largestReasonCount = 200
    /// The longest name of a program, in characters.
    static let largestRequesterCount = 120
    /// The longest heading, error or instruction of our own, in characters.
    static let largestHeadingCount = 160
    /// The longest title of a button, in characters.
    static let largestTitleCount = 40
    /// The most bytes of any of these but the reason: all of them together fit into one Assuan line.
    static let largestByteCount = 160

    /// Cuts off what stacks marks on one character without end.
    private static let largestCharacterByteCount = 32
    /// So much is looked at: enough for every limit above.
    private static let largestCleanByteCount = 8192

    /// One line of at most so many characters, and bytes once escaped; what is cut off leaves an ellipsis.
    static func line(_ text: String, characters: Int, octets: Int = .max) -> String {
        var line = ""
        var count = 0
        var used = 0
        // Where the line ends when it has to be cut: there is room for the ellipsis.
        var cut = line.startIndex
        for character in cleaned(text) {
            let shown = character.utf8.count > largestCharacterByteCount ? "\u{FFFD}" : character
            // The only one left that needs an escape of three bytes; marks may stand on it.
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

    /// A heading or an error of ours, which may quote others.
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

    /// A line in lines of at most so many characters, broken at spaces; a word that is longer stays whole.
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

    /// White space of any kind and length as one space, none at either end, and only what can be seen.
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

    /// Symbols that are drawn as nothing, and are none of Unicode's white space: the Braille pattern without dots, and
    /// musical notation's null note head.
    private static let blanks: Set<Unicode.Scalar> = ["\u{2800}", "\u{1D159}"]

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
            false
        default: !scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// A button's title with its key marked by `_`, as pinentry wants it.
    ///
    /// - Parameters:
    ///   - text: the title; an underscore in it is shown as such.
    ///   - taken: the key of the other button, in lower case.
    /// - Returns: the title, and its key in lower case where it has one.
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
