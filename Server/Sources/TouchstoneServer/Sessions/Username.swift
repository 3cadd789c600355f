internal import Foundation

/// A user's name in the form in which it is stored and compared: lower case and NFC, as UsernameCaseMapped of RFC 8265 has it.
enum Username {
    /// Bytes, at most.
    static let mostBytes = 128

    /// The form; nil for a name that nobody can have: empty, too long, with blanks or control characters.
    static func prepared(_ text: String) -> String? {
        let name = text.lowercased().precomposedStringWithCanonicalMapping
        let isPlain = name.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .spaceSeparator, .lineSeparator,
                .paragraphSeparator:
                false
            default: true
            }
        }
        return isPlain && (1...mostBytes).contains(name.utf8.count) ? name : nil
    }
}
