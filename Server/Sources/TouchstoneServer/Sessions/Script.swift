/// The scripts of letters, as the names of their characters tell.
enum Script {
    /// The script of a letter, such as `LATIN`, `CYRILLIC` or `HAN`; nil: no letter, or one of no single script.
    static func of(_ scalar: Unicode.Scalar) -> String? {
        let properties = scalar.properties
        if properties.isIdeographic { return "HAN" }
        switch properties.generalCategory {
        // Modifier letters are common to scripts.
        case .lowercaseLetter, .uppercaseLetter, .titlecaseLetter, .otherLetter: break
        default: return nil
        }
        if (0xAC00...0xD7A3).contains(scalar.value) { return "HANGUL" }
        return properties.name?.split(separator: " ").first.map(String.init)
    }

    /// Whether a letter is written from right to left; nil: no letter.
    static func isRightToLeft(_ scalar: Unicode.Scalar) -> Bool? {
        guard of(scalar) != nil else { return nil }
        // The blocks that are reserved for such scripts (Unicode Standard Annex 9, table 4 and section 3.3).
        switch scalar.value {
        case 0x590...0x8FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x10800...0x10FFF, 0x1E800...0x1EFFF:
            return true
        default: return false
        }
    }

    /// Writing systems that have letters of several scripts (Unicode Technical Standard 39, section 5.2, *highly
    /// restrictive*).
    private static let together: [Set<String>] = [
        ["LATIN", "HAN", "HIRAGANA", "KATAKANA"], ["LATIN", "HAN", "BOPOMOFO"], ["LATIN", "HAN", "HANGUL"],
    ]

    /// The scripts of a name whose letters are of several that no language writes together, in the order of their names;
    /// nil: they are not.
    ///
    /// Such a name may look like another one: `аnna` with a Cyrillic `а`. A name wholly of another script that looks like one
    /// is not found by this (UTS 39, section 4, has a table of such characters; this server has not).
    static func mixed(in name: String) -> [String]? {
        let scripts = Set(name.unicodeScalars.compactMap(of))
        guard scripts.count > 1, !together.contains(where: { scripts.isSubset(of: $0) }) else { return nil }
        return scripts.sorted()
    }
}
