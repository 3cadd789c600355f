import SecretMemory

/// A text in an export, which may be a secret: its place there and how it is written.
struct ExportText {
    /// How special characters are written.
    enum Form {
        /// Not at all.
        case plain
        /// The inside of a JSON string (RFC 8259).
        case json
        /// The content of an XML element: entities, CDATA sections and comments.
        case xml
        /// The inside of a quoted CSV cell (RFC 4180): a quote is doubled.
        case csv
    }

    let place: Range<Int>
    let form: Form
}

/// The parsers have checked what these decode.
extension ExportDocument {
    /// Appends a text to locked memory; of its bytes only those that are wanted.
    func append(
        _ text: ExportText,
        to buffer: inout SecretBuffer,
        where isWanted: (UInt8) -> Bool = { _ in true }
    ) {
        var index = text.place.lowerBound
        while index < text.place.upperBound {
            index = decode(text, at: index) { if isWanted($0) { buffer.append($0) } }
        }
    }

    /// A text that is no secret, such as a title.
    func string(_ text: ExportText) -> String {
        var octets: [UInt8] = []
        var index = text.place.lowerBound
        while index < text.place.upperBound { index = decode(text, at: index) { octets.append($0) } }
        return String(decoding: octets, as: UTF8.self)
    }

    /// Whether any byte of a text is like this.
    func contains(_ text: ExportText, where matches: (UInt8) -> Bool) -> Bool {
        var (found, index) = (false, text.place.lowerBound)
        while index < text.place.upperBound, !found {
            index = decode(text, at: index) { if matches($0) { found = true } }
        }
        return found
    }

    func isEmpty(_ text: ExportText) -> Bool { !contains(text) { _ in true } }

    func hasLineBreak(_ text: ExportText) -> Bool { contains(text) { $0 == 0x0A || $0 == 0x0D } }

    /// Whether a text begins with an ASCII text.
    func begins(_ text: ExportText, with beginning: String) -> Bool {
        var rest = Array(beginning.utf8)[...]
        var (isSame, index) = (true, text.place.lowerBound)
        while index < text.place.upperBound, isSame, !rest.isEmpty {
            index = decode(text, at: index) { octet in
                guard let expected = rest.popFirst() else { return }
                isSame = isSame && octet == expected
            }
        }
        return isSame && rest.isEmpty
    }

    /// Hands over the bytes of the character at an index, and returns the index of the next one.
    private func decode(_ text: ExportText, at index: Int, _ body: (UInt8) -> Void) -> Int {
        let octet = self[index]
        switch (text.form, octet) {
        case (.json, UInt8(ascii: "\\")): return decodeEscape(at: index, body)
        case (.csv, UInt8(ascii: "\"")):
            body(octet)
            return index + 2
        case (.xml, UInt8(ascii: "&")):
            guard let (scalar, end) = XMLEntity.read(in: self, at: index) else {
                return text.place.upperBound
            }
            UTF8.encode(scalar)?.forEach(body)
            return end
        case (.xml, UInt8(ascii: "<")): return decodeSection(at: index, upTo: text.place.upperBound, body)
        case (.xml, 0x0D):
            // XML 1.0, section 2.11.
            body(0x0A)
            return index + 1 < text.place.upperBound && self[index + 1] == 0x0A ? index + 2 : index + 1
        default:
            body(octet)
            return index + 1
        }
    }

    private func decodeEscape(at index: Int, _ body: (UInt8) -> Void) -> Int {
        guard let (scalar, end) = JSONEscape.read(in: self, at: index) else { return count }
        UTF8.encode(scalar)?.forEach(body)
        return end
    }

    /// A comment, or a CDATA section.
    private func decodeSection(at index: Int, upTo end: Int, _ body: (UInt8) -> Void) -> Int {
        let isComment = has("<!--", at: index)
        var index = index + (isComment ? 4 : 9)
        while index < end {
            if isComment ? has("-->", at: index) : has("]]>", at: index) { return index + 3 }
            if !isComment { body(self[index]) }
            index += 1
        }
        return end
    }
}
