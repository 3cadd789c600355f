/// External text as one word of a shell's command line.
enum ShellWord {
    /// ASCII characters that neither sh, bash, zsh nor fish gives a meaning within a word.
    private static let plain = Set("@%+=:,./_-".unicodeScalars)

    /// The word as bash, zsh and fish read it: characters with a meaning follow a backslash.
    ///
    /// It holds no `; `, at which ``Hint`` divides. Control and format characters, which no shell shows as they are, need
    /// bash's and zsh's `$'…'`.
    static func escaped(_ text: String) -> String {
        if text.isEmpty { return "''" }
        if !Printable.isPlain(text) { return "$'" + text.utf8.map(ansi).joined() + "'" }
        return escaped(text, isStart: true)
    }

    /// Text without control characters; at the start of a word `=` and `~` have meanings too.
    static func escaped(_ text: String, isStart: Bool) -> String {
        var word = ""
        for scalar in text.unicodeScalars {
            let isFirst = isStart && word.isEmpty
            if !isPlain(scalar) || isFirst && scalar == "=" { word += "\\" }
            word.unicodeScalars.append(scalar)
        }
        return word
    }

    /// A positional argument: a word that begins with `-` follows `--`.
    static func argument(_ text: String) -> String { (text.hasPrefix("-") ? "-- " : "") + escaped(text) }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9": true
        default: !scalar.isASCII || plain.contains(scalar)
        }
    }

    private static func ansi(_ octet: UInt8) -> String {
        switch octet {
        case UInt8(ascii: "'"), UInt8(ascii: "\\"): "\\" + String(UnicodeScalar(octet))
        case 0x20...0x7E: String(UnicodeScalar(octet))
        default: "\\x" + (octet < 16 ? "0" : "") + String(octet, radix: 16)
        }
    }
}
