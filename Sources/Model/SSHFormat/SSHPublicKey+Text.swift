internal import Crypto
internal import Foundation

extension SSHPublicKey {
    /// Reads a line of a `.pub` file, or of `authorized_keys` without options (sshd(8), "AUTHORIZED_KEYS FILE FORMAT").
    ///
    /// It has the algorithm, base64, and possibly a comment.
    ///
    /// Nil for anything else, several lines, and an algorithm that is not the key's. A certificate's line is not a key's.
    package init?(line: String) {
        let bytes = Array(line.utf8.last == UInt8(ascii: "\n") ? line.utf8.dropLast() : line.utf8[...])
        guard !bytes.contains(UInt8(ascii: "\n")) else { return nil }
        let fields = bytes.split(maxSplits: 2) { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard fields.count >= 2 else { return nil }
        self.init(algorithm: fields[0], base64: fields[1])
    }

    /// Takes the two fields of a key in a file; nil if they do not fit.
    init?(algorithm: ArraySlice<UInt8>, base64: ArraySlice<UInt8>) {
        guard let blob = bytes(base64: base64), let key = try? SSHPublicKey(blob: blob),
            algorithm.elementsEqual(key.algorithm.utf8)
        else { return nil }
        self = key
    }

    /// The fingerprint that OpenSSH shows: `SHA256:`, and the blob's SHA-256 in base64 without padding.
    package var fingerprint: String {
        "SHA256:" + Data(SHA256.hash(data: blob)).base64EncodedString().trimmingCharacters(in: ["="])
    }

    /// The line of a `.pub` file, without an end of line: algorithm, base64, and the comment unless it is empty.
    ///
    /// Control characters and ends of lines in the comment become `?`.
    package func line(comment: String) -> String {
        let fields = algorithm + " " + Data(blob).base64EncodedString()
        let printable = String(
            String.UnicodeScalarView(
                comment.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .lineSeparator, .paragraphSeparator: "?"
                    default: scalar
                    }
                }
            )
        )
        return printable.isEmpty ? fields : fields + " " + printable
    }
}

/// The bytes of base64 with padding (RFC 4648, section 4), of which each byte string has one; nil for other text.
func bytes(base64 text: some Collection<UInt8>) -> [UInt8]? {
    guard let bytes = Data(base64Encoded: Data(text)), bytes.base64EncodedData().elementsEqual(text) else {
        return nil
    }
    return Array(bytes)
}
