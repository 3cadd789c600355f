import CBOR

/// What an app says in a prompt beside its reason: a title, a subtitle and items, each shown on a line of its own.
///
/// The limits are those of the wire and of every prompt: a longer text ends in an ellipsis there.
public struct PromptDetails: Sendable, Equatable {
    /// The most items.
    public static let mostItems = 8
    /// The longest title and the longest subtitle, in characters.
    public static let longestTitle = 60
    /// The longest reason, in characters.
    public static let longestReason = 200
    /// The longest item, in characters.
    public static let longestItem = 80
    /// The longest title of a button, in characters.
    public static let longestButton = 40
    /// The most named fallbacks.
    public static let mostFallbacks = 4

    /// A heading; nil for none.
    public var title: String?
    /// A second heading; nil for none.
    public var subtitle: String?
    /// Details of the reason, at most ``mostItems``.
    public var items: [String]

    /// Describes the lines; without arguments, none.
    public init(title: String? = nil, subtitle: String? = nil, items: [String] = []) {
        self.title = title
        self.subtitle = subtitle
        self.items = items
    }

    /// Text of others within a sentence: in single quotation marks that it cannot end itself, on one line, and no longer than
    /// leaves room for the rest of the sentence.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - most: how many characters of it are shown; an ellipsis stands for the others.
    /// - Returns: the text with its quotation marks, whatever alphabet they are of, as `?`, and white space as single spaces.
    package static func quoted(_ text: String, atMost most: Int = 40) -> String {
        let words = text.unicodeScalars.split { $0.properties.isWhitespace }.map { word in
            String(String.UnicodeScalarView(word.map { $0.properties.isQuotationMark ? "?" : $0 }))
        }
        let line = words.joined(separator: " ")
        return "'\(line.count > most ? line.prefix(most - 1) + "\u{2026}" : line[...])'"
    }

    /// Whether there is nothing to show.
    public var isEmpty: Bool { title == nil && subtitle == nil && items.isEmpty }
}

extension WireWriter {
    /// Writes the lines: title or null, subtitle or null, array of items.
    mutating func write(_ details: PromptDetails) {
        write(optionalText: details.title)
        write(optionalText: details.subtitle)
        write(texts: details.items)
    }

    /// Writes the titles of fallback buttons: null for the default, an empty array for no button.
    mutating func write(fallbacks titles: [String]?) {
        if let titles { write(texts: titles) } else { writeNull() }
    }
}

extension CBORReader {
    /// Reads the lines; each text with `text`.
    ///
    /// - Throws: ``WireError`` `malformed` for too many items; the errors of `text`.
    mutating func readDetails(_ text: (inout CBORReader) throws -> String) throws -> PromptDetails {
        PromptDetails(
            title: try readOptional(text),
            subtitle: try readOptional(text),
            items: try readTexts(atMost: PromptDetails.mostItems, text)
        )
    }

    /// Reads the titles of fallback buttons; each with `text`.
    ///
    /// - Throws: ``WireError`` `malformed` for too many titles or an empty one; the errors of `text`.
    mutating func readFallbacks(_ text: (inout CBORReader) throws -> String) throws -> [String]? {
        guard !(try readNullIfPresent()) else { return nil }
        let titles = try readTexts(atMost: PromptDetails.mostFallbacks, text)
        guard !titles.contains("") else { throw WireError.malformed }
        return titles
    }

    private mutating func readTexts(
        atMost most: Int,
        _ text: (inout CBORReader) throws -> String
    ) throws -> [String] {
        let count = try readArrayHead()
        guard count <= most else { throw WireError.malformed }
        return try (0..<count).map { _ in try text(&self) }
    }
}
