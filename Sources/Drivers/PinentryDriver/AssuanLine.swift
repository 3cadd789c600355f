import SecretMemory

/// One line of the Assuan protocol: escaping text into it, and parsing a line of the program.
///
/// See "Developing with Assuan", sections "Client requests" and "Server responses".
enum AssuanLine {
    /// The longest line, without its line end (`ASSUAN_LINELENGTH`).
    static let largestByteCount = 1000

    /// The kind of a line.
    enum Kind: Equatable {
        /// `OK`: the command is done.
        case ok
        /// `ERR`: the command failed. The text after the code is discarded: see ``PinentryCode``.
        case error(PinentryCode)
        /// `D`: part of the response data, decoded with ``AssuanLine/decode(_:into:)``.
        case data
        /// `S` and its keyword.
        case status(String)
        /// `#`, or an empty line.
        case comment
        /// `INQUIRE`: the program asks a question.
        case inquire
        /// `END`: the end of data.
        case end
        /// Not an Assuan line.
        case unknown
    }

    /// The kind of a line, given without its line end.
    static func kind(of line: Span<UInt8>) -> Kind {
        guard !line.isEmpty, line[0] != UInt8(ascii: "#") else { return .comment }
        switch word(of: line, at: 0) {
        case "D": return .data
        case "OK": return .ok
        case "S": return .status(word(of: line, at: 2))
        case "ERR": return UInt32(word(of: line, at: 4)).map { .error(PinentryCode($0)) } ?? .unknown
        case "INQUIRE": return .inquire
        case "END": return .end
        default: return .unknown
        }
    }

    /// The offset of a `D` line's payload.
    static let dataOffset = 2

    /// Appends the decoded payload.
    ///
    /// - Returns: false for a `%` that is not followed by two hexadecimal digits; the bytes before it are appended.
    static func decode(_ payload: Span<UInt8>, into octets: inout SecretBuffer) -> Bool {
        var index = 0
        while index < payload.count {
            guard payload[index] == UInt8(ascii: "%") else {
                octets.append(payload[index])
                index += 1
                continue
            }
            guard index + 2 < payload.count,
                let high = hexadecimalValue(payload[index + 1]),
                let low = hexadecimalValue(payload[index + 2])
            else { return false }
            octets.append(high << 4 | low)
            index += 3
        }
        return true
    }

    /// The text typed so far from an `INQUIRE QUALITY` line, which encodes a space as `+`; nil for another inquiry.
    static func judged(_ line: Span<UInt8>) -> SecretBytes? {
        guard word(of: line, at: 8) == "QUALITY" else { return nil }
        var plain = SecretBuffer(minimumCapacity: max(1, line.count))
        let start = min(line.count, 16)
        for index in start..<line.count {
            plain.append(line[index] == UInt8(ascii: "+") ? UInt8(ascii: " ") : line[index])
        }
        let escaped = plain.finish()
        var octets = SecretBuffer(minimumCapacity: max(1, line.count))
        let isDecoded = escaped.withOctets { decode($0, into: &octets) }
        return isDecoded ? octets.finish() : nil
    }

    /// The bytes of a text, with `%`, CR and LF as `%XX`.
    static func escaped(_ text: String) -> [UInt8] {
        var octets: [UInt8] = []
        for octet in text.utf8 { append(octet) { octets.append($0) } }
        return octets
    }

    /// Appends a secret with `%`, CR and LF as `%XX`.
    static func escape(_ secret: borrowing SecretBytes, into line: inout SecretBuffer) {
        secret.withOctets { octets in
            for index in octets.indices { append(octets[index]) { line.append($0) } }
        }
    }

    private static func append(_ octet: UInt8, to sink: (UInt8) -> Void) {
        switch octet {
        case UInt8(ascii: "%"), UInt8(ascii: "\r"), UInt8(ascii: "\n"):
            sink(UInt8(ascii: "%"))
            sink(hexadecimalDigit(octet >> 4))
            sink(hexadecimalDigit(octet & 15))
        default:
            sink(octet)
        }
    }

    private static func hexadecimalDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    private static func hexadecimalValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// The longest keyword that is parsed; no known keyword is longer.
    private static let largestWordByteCount = 32

    /// The ASCII word at an offset; empty if there is none.
    ///
    /// Reads no further than the longest keyword, and never into a `D` line's payload.
    private static func word(of line: Span<UInt8>, at offset: Int) -> String {
        var word = ""
        var index = offset
        while index < line.count, line[index] != UInt8(ascii: " ") {
            guard word.utf8.count < largestWordByteCount, (0x21...0x7E).contains(line[index]) else {
                return ""
            }
            word.unicodeScalars.append(Unicode.Scalar(line[index]))
            index += 1
        }
        return word
    }
}
