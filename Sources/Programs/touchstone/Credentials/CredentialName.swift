import ArgumentParser
import Primitives

/// The names and labels that git's and docker's credentials get: one for each server, user and path, whatever their bytes and
/// lengths.
enum CredentialName {
    /// What precedes the digest in a shortened text.
    ///
    /// In an ``escaped(_:keeping:)`` one, two hexadecimal digits follow each `%`.
    private static let mark = "%SHA-256:"
    /// The digest whole: with half of it, two texts with one digest could be found in 2^64 attempts.
    private static let shortenedTo = ItemName.longest - mark.utf8.count - 2 * SHA256.byteCount

    /// The name of a credential.
    ///
    /// - Parameter text: its parts, ``escaped(_:keeping:)``.
    /// - Returns: the ``shortened(_:)`` text.
    /// - Throws: `ValidationError` if the text is empty.
    static func name(_ text: String) throws(ValidationError) -> ItemName {
        try ItemName(argument: shortened(text))
    }

    /// The text, at most ``ItemName/longest`` bytes: of a longer one the beginning, and the SHA-256 digest of the rest.
    ///
    /// The beginning ends with a whole character, also if that is escaped.
    static func shortened(_ text: String) -> String {
        let octets = Array(text.utf8)
        guard octets.count > ItemName.longest else { return text }
        var end = shortenedTo
        // Not inside an escape.
        while octets[end - 1] == UInt8(ascii: "%") || octets[end - 2] == UInt8(ascii: "%") { end -= 1 }
        // Nor before a byte that continues a character of UTF-8, of which there are at most three.
        let first = end
        while first - end < 9, isContinuation(octets[end...].prefix(3)),
            octets[end - 3] == UInt8(ascii: "%")
        {
            end -= 3
        }
        let digest = SHA256.digest(of: Array(octets[end...])).map { octet in
            (octet < 16 ? "0" : "") + String(octet, radix: 16)
        }
        return String(decoding: octets[..<end], as: UTF8.self) + mark + digest.joined()
    }

    /// Whether an escape stands for 0x80 to 0xBF.
    private static func isContinuation(_ escape: ArraySlice<UInt8>) -> Bool {
        let escape = Array(escape)
        return escape.count == 3 && escape[0] == UInt8(ascii: "%") && "89AB".utf8.contains(escape[1])
    }

    /// The text with everything but printable ASCII characters, and also `%` and those of `special`, as `%XX`: different texts stay
    /// different.
    static func escaped(_ text: [UInt8], keeping special: String) -> String {
        let special = Array(special.utf8)
        return text.reduce(into: "") { escaped, octet in
            if (0x21...0x7E).contains(octet), octet != UInt8(ascii: "%"), !special.contains(octet) {
                escaped.unicodeScalars.append(Unicode.Scalar(octet))
            } else {
                escaped += "%" + (octet < 16 ? "0" : "") + String(octet, radix: 16, uppercase: true)
            }
        }
    }
}
