internal import Foundation

/// The characters of identifiers (PRECIS IdentifierClass, RFC 8264, section 4.2), and the rule for names that are written
/// from right to left.
///
/// Swift has no table of joining types and of directions: a zero-width non-joiner is allowed after a virama only (the first
/// half of its rule in RFC 5892, appendix A.1), and directions are those of the letters' scripts.
enum IdentifierClass {
    /// - Throws: ``Username/Refusal`` with the character.
    static func check(_ name: [Unicode.Scalar]) throws(Username.Refusal) {
        for index in name.indices where !isAllowed(name, index) {
            let scalar = name[index]
            let number = String(scalar.value, radix: 16, uppercase: true)
            let code = "U+" + String(repeating: "0", count: max(0, 4 - number.count)) + number
            throw Username.Refusal(
                detail: "must have no \(code)\(scalar.properties.name.map { " (\($0))" } ?? ""): "
                    + "letters, digits and the signs of ASCII are allowed, without blanks"
            )
        }
        try checkDirection(name)
    }

    private static func isAllowed(_ name: [Unicode.Scalar], _ index: Int) -> Bool {
        let scalar = name[index]
        // In the order of RFC 8264, section 8.
        if let exception = exception(name, index) { return exception }
        switch scalar.value {
        case 0x21...0x7E: return true
        case 0x200C, 0x200D:
            // RFC 5892, appendices A.1 and A.2: after a virama.
            return index > 0 && name[index - 1].properties.canonicalCombiningClass == .virama
        case 0x1100...0x11FF, 0xA960...0xA97F, 0xD7B0...0xD7FF: return false
        default: break
        }
        let properties = scalar.properties
        guard !properties.isDefaultIgnorableCodePoint, !properties.isNoncharacterCodePoint else {
            return false
        }
        // HasCompat: its compatibility form is another.
        let compatible = String(scalar).precomposedStringWithCompatibilityMapping
        guard compatible.unicodeScalars.elementsEqual([scalar]) else { return false }
        switch properties.generalCategory {
        case .lowercaseLetter, .uppercaseLetter, .otherLetter, .modifierLetter, .decimalNumber,
            .nonspacingMark, .spacingMark:
            return true
        default: return false
        }
    }

    /// RFC 5892, section 2.6, with the rules of its appendix A; nil: the character is no exception.
    private static func exception(_ name: [Unicode.Scalar], _ index: Int) -> Bool? {
        let (before, after) = (
            index > 0 ? name[index - 1] : nil, index + 1 < name.count ? name[index + 1] : nil
        )
        switch name[index].value {
        case 0xDF, 0x3C2, 0x6FD, 0x6FE, 0xF0B, 0x3007: return true
        case 0x640, 0x7FA, 0x302E, 0x302F, 0x3031...0x3035, 0x303B: return false
        case 0xB7: return before == "l" && after == "l"
        case 0x375: return after.map { Script.of($0) == "GREEK" } ?? false
        case 0x5F3, 0x5F4: return before.map { Script.of($0) == "HEBREW" } ?? false
        case 0x30FB:
            return name.contains { ["HIRAGANA", "KATAKANA", "HAN"].contains(Script.of($0)) }
        case 0x660...0x669: return !name.contains { (0x6F0...0x6F9).contains($0.value) }
        case 0x6F0...0x6F9: return !name.contains { (0x660...0x669).contains($0.value) }
        default: return nil
        }
    }

    /// RFC 8265, section 3.3.2, step 5 (RFC 5893, section 2), by scripts: a name with a letter that is written from right to
    /// left begins with one, and has no letter that is written from left to right.
    private static func checkDirection(_ name: [Unicode.Scalar]) throws(Username.Refusal) {
        let directions = name.map(Script.isRightToLeft)
        guard directions.contains(true) else { return }
        guard directions.first == true, !directions.contains(false) else {
            throw Username.Refusal(
                detail: "must begin with a letter that is written from right to left, "
                    + "and have no letter that is written from left to right, or none of the former"
            )
        }
    }
}
