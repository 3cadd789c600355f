/// A pull parser for the XML 1.0 that KeePassXC and KeePass export: elements, attributes, text, comments and CDATA sections in UTF-8.
///
/// It is our own because of what it leaves out: a document type, and with it every entity but the five predefined ones, and processing
/// instructions are refused, so that no export can name a file or grow when it is read. FoundationXML with libxml2, the library at
/// hand, would add several megabytes to a statically linked command, and would make strings of all values, which cannot be wiped.
struct ExportXML {
    enum Event {
        case start(name: String)
        case text
        case end
    }

    private let document: ExportDocument
    private var index: Int
    private var open: [String] = []
    private var elements = 0
    /// An empty-element tag was read as a start; its end is next.
    private var isEmptyElement = false
    private var hasRoot = false
    /// The attributes of the last start: names in the document, and values.
    private(set) var attributes: [(name: String, value: ExportText)] = []
    /// Where the last tag began.
    private var tag = 0

    init(_ document: ExportDocument) throws(ExportFault) {
        self.document = document
        index = document.start
        if document.has("<?xml", at: index) {
            guard let end = find("?>", from: index) else { throw malformed }
            index = end + 2
        }
    }

    /// The next event; nil at the end of the document.
    mutating func next() throws(ExportFault) -> Event? {
        if isEmptyElement {
            isEmptyElement = false
            tag = index
            open.removeLast()
            return .end
        }
        while index < document.count {
            if document.has("<!--", at: index) {
                try skipComment()
            } else if document.has("<![CDATA[", at: index) {
                guard !open.isEmpty, let end = find("]]>", from: index) else { throw malformed }
                index = end + 3
                return .text
            } else if document.has("<!", at: index) {
                throw ExportFault("a document type or an entity is declared, which is refused", at: index)
            } else if document.has("<?", at: index) {
                throw ExportFault("there is a processing instruction, which is refused", at: index)
            } else if document.has("</", at: index) {
                try readEndTag()
                return .end
            } else if document[index] == UInt8(ascii: "<") {
                return .start(name: try readStartTag())
            } else if try readText() {
                return .text
            }
        }
        guard open.isEmpty, hasRoot else { throw ExportFault("the XML ends too early", at: index) }
        return nil
    }

    /// The text of the element whose start was read, up to its end; it has no elements.
    mutating func content() throws(ExportFault) -> ExportText {
        let start = index
        while true {
            switch try next() {
            case .text: continue
            case .end: return ExportText(place: min(start, tag)..<tag, form: .xml)
            case .start: throw ExportFault("there is an element where only text is expected", at: tag)
            case nil: throw malformed
            }
        }
    }

    /// Skips the element whose start was read, with all in it.
    mutating func skip() throws(ExportFault) {
        let depth = open.count
        while open.count >= depth { _ = try next() }
    }

    /// Calls `body` for each element in the one whose start was read, up to its end; `body` reads up to the element's end.
    mutating func children(_ body: (inout ExportXML, String) throws(ExportFault) -> Void) throws(ExportFault)
    {
        while true {
            switch try next() {
            case .start(let name): try body(&self, name)
            case .text: continue
            case .end: return
            case nil: throw malformed
            }
        }
    }

    private var malformed: ExportFault {
        ExportFault(index >= document.count ? "the XML ends too early" : "the XML is malformed", at: index)
    }

    private func find(_ text: StaticString, from start: Int) -> Int? {
        (start..<document.count).first { document.has(text, at: $0) }
    }

    private mutating func skipComment() throws(ExportFault) {
        guard let end = find("--", from: index + 4), document.has("-->", at: end) else { throw malformed }
        index = end + 3
    }

    /// Text up to the next tag; false if it is only blanks outside of the root.
    private mutating func readText() throws(ExportFault) -> Bool {
        while index < document.count, document[index] != UInt8(ascii: "<") {
            let octet = document[index]
            guard !open.isEmpty || Self.isBlank(octet) else { throw malformed }
            if octet == UInt8(ascii: "&") {
                index = try entityEnd()
            } else {
                try checkCharacter(octet)
                guard !document.has("]]>", at: index) else { throw malformed }
                index += 1
            }
        }
        return !open.isEmpty
    }

    private func entityEnd() throws(ExportFault) -> Int {
        guard let (_, end) = XMLEntity.read(in: document, at: index) else {
            throw ExportFault("there is an entity that XML does not define, which is refused", at: index)
        }
        return end
    }

    /// XML 1.0, section 2.2: of the control characters only tabs and line breaks.
    private func checkCharacter(_ octet: UInt8) throws(ExportFault) {
        guard octet >= 0x20 || Self.isBlank(octet) else {
            throw ExportFault("the XML has a control character", at: index)
        }
    }

    private static func isBlank(_ octet: UInt8) -> Bool {
        octet == 0x20 || octet == 0x09 || octet == 0x0A || octet == 0x0D
    }

    private mutating func skipBlanks() {
        while index < document.count, Self.isBlank(document[index]) { index += 1 }
    }

    private mutating func readName() throws(ExportFault) -> String {
        let start = index
        while index < document.count, Self.isNamePart(document[index]) { index += 1 }
        guard index > start, index - start <= 64 else { throw malformed }
        return document.string(ExportText(place: start..<index, form: .plain))
    }

    /// The names in these exports are ASCII.
    private static func isNamePart(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: ":"):
            true
        default: false
        }
    }

    private mutating func readStartTag() throws(ExportFault) -> String {
        tag = index
        guard !open.isEmpty || !hasRoot else { throw malformed }
        hasRoot = true
        elements += 1
        guard elements <= ExportLimits.mostValues else {
            throw ExportFault("it has more than \(ExportLimits.mostValues) elements, the limit", at: index)
        }
        guard open.count < ExportLimits.deepest else {
            throw ExportFault("it is nested deeper than \(ExportLimits.deepest) levels, the limit", at: index)
        }
        index += 1
        let name = try readName()
        attributes = []
        while true {
            let start = index
            skipBlanks()
            if document.has("/>", at: index) {
                index += 2
                isEmptyElement = true
                break
            }
            if document.has(">", at: index) {
                index += 1
                break
            }
            guard index > start, attributes.count < 16 else { throw malformed }
            try readAttribute()
        }
        open.append(name)
        return name
    }

    private mutating func readAttribute() throws(ExportFault) {
        let name = try readName()
        guard !attributes.contains(where: { $0.name == name }) else { throw malformed }
        skipBlanks()
        guard document.has("=", at: index) else { throw malformed }
        index += 1
        skipBlanks()
        guard index < document.count, [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(document[index]) else {
            throw malformed
        }
        let quote = document[index]
        index += 1
        let start = index
        while index < document.count, document[index] != quote {
            guard document[index] != UInt8(ascii: "<") else { throw malformed }
            try checkCharacter(document[index])
            index = document[index] == UInt8(ascii: "&") ? try entityEnd() : index + 1
        }
        guard index < document.count else { throw malformed }
        attributes.append((name, ExportText(place: start..<index, form: .xml)))
        index += 1
    }

    private mutating func readEndTag() throws(ExportFault) {
        tag = index
        index += 2
        let name = try readName()
        skipBlanks()
        guard document.has(">", at: index), open.popLast() == name else { throw malformed }
        index += 1
    }
}

/// A reference to a character in XML: one of the five predefined entities, or a number (XML 1.0, sections 4.1 and 4.6).
enum XMLEntity {
    private static let longest = 12

    /// The character of the reference that begins at `index`, and where it ends; nil if it is another one.
    static func read(in document: ExportDocument, at index: Int) -> (scalar: Unicode.Scalar, end: Int)? {
        let places = (index + 1)..<min(index + longest, document.count)
        guard !places.isEmpty, let semicolon = places.first(where: { document[$0] == UInt8(ascii: ";") })
        else {
            return nil
        }
        let name = document.string(ExportText(place: (index + 1)..<semicolon, form: .plain))
        let end = semicolon + 1
        switch name {
        case "amp": return ("&", end)
        case "lt": return ("<", end)
        case "gt": return (">", end)
        case "quot": return ("\"", end)
        case "apos": return ("'", end)
        default: break
        }
        let isHexadecimal = name.hasPrefix("#x")
        let digits = name.dropFirst(isHexadecimal ? 2 : 1)
        guard name.hasPrefix("#"), let first = digits.first, first.isHexDigit,
            let number = UInt32(digits, radix: isHexadecimal ? 16 : 10), let scalar = Unicode.Scalar(number),
            number >= 0x20 || [0x09, 0x0A, 0x0D].contains(number)
        else { return nil }
        return (scalar, end)
    }
}
