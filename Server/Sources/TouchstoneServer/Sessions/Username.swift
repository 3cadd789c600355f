internal import Foundation

/// Usernames by the profile UsernameCaseMapped (RFC 8265, section 3.3): full-width and half-width forms, capitals and
/// decomposed letters are the same name.
enum Username {
    /// The maximum number of bytes.
    static let mostBytes = 128

    /// Why a text is no username; `detail` is for the client.
    struct Refusal: Error, Equatable {
        let detail: String
    }

    /// The form in which a new name is stored.
    ///
    /// - Throws: ``Refusal`` for a name that the profile does not allow.
    static func prepared(_ text: String) throws(Refusal) -> String {
        let name = caseMapped(widthMapped(text))
        guard (1...mostBytes).contains(name.utf8.count) else {
            throw Refusal(detail: "must have 1 to \(mostBytes) bytes")
        }
        try IdentifierClass.check(Array(name.unicodeScalars))
        return name
    }

    /// RFC 8265, section 3.3.2, step 1, for the characters that are allowed afterwards and the marks of half-width kana.
    ///
    /// Other wide and narrow ones stay, and are refused.
    static func widthMapped(_ text: String) -> String {
        var mapped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0xFF01...0xFF5E: mapped.append(Unicode.Scalar(UInt8(scalar.value - 0xFEE0)))
            case 0xFF61...0xFF9F:
                mapped.append(
                    contentsOf: String(scalar).decomposedStringWithCompatibilityMapping.unicodeScalars
                )
            default: mapped.append(scalar)
            }
        }
        return String(mapped)
    }

    /// Steps 3 and 4: lower case and NFC.
    static func caseMapped(_ text: String) -> String {
        text.lowercased().precomposedStringWithCanonicalMapping
    }
}

/// A username as somebody types it to sign in.
///
/// Accounts that were created before names were mapped by width keep theirs, and are found by it.
struct TypedName {
    /// The forms in which an account may be stored; the first one that is goes before the second.
    ///
    /// None: no account has such a name.
    let forms: [String]
    /// The name for counting failures where no account is found.
    let key: String

    init(_ text: String) {
        let mapped = Username.caseMapped(Username.widthMapped(text))
        let earlier = Username.caseMapped(text)
        forms = (earlier == mapped ? [mapped] : [earlier, mapped]).filter(Self.isPlain)
        key = Self.isPlain(mapped) ? mapped : text
    }

    /// What all stored names are: of a certain length, without blanks and control characters.
    private static func isPlain(_ name: String) -> Bool {
        let isPlain = name.unicodeScalars.allSatisfy { scalar in
            // Joiners are allowed in some places.
            if scalar == "\u{200C}" || scalar == "\u{200D}" { return true }
            return switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .spaceSeparator, .lineSeparator,
                .paragraphSeparator:
                false
            default: true
            }
        }
        return isPlain && (1...Username.mostBytes).contains(name.utf8.count)
    }
}
