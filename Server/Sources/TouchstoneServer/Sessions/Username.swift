internal import Foundation

/// A username in the form for storing and comparing: lowercase and NFC, as in UsernameCaseMapped of RFC 8265.
enum Username {
    /// The maximum number of bytes.
    static let mostBytes = 128

    /// The prepared form; nil for an invalid name: empty, too long, with white space or control characters.
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
