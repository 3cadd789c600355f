internal import WebAuthnModel

/// The texts of the account page in one language.
///
/// They are those of the language's module, which is a JSON object after `export default`, so that the page and its scripts have
/// the same.
struct PageTexts: Sendable {
    private let texts: JSONObject

    /// A text that is not there, or that is not text.
    struct Missing: Error, Equatable, CustomStringConvertible {
        let key: String
        var description: String { "the page has no text \(key)" }
    }

    /// Reads a module.
    ///
    /// - Throws: ``Missing`` with an empty key for a module of another form.
    init(module: [UInt8]) throws(Missing) {
        guard let start = module.firstIndex(of: UInt8(ascii: "{")),
            let end = module.lastIndex(of: UInt8(ascii: "}")), start < end,
            let object = try? JSONValue(parsing: Array(module[start...end])).object
        else { throw Missing(key: "") }
        texts = object
    }

    /// Replaces each `{{name}}` of a template by a value or by a text, escaped for HTML.
    ///
    /// - Parameters:
    ///   - template: HTML.
    ///   - values: what is no text; `service` is also inserted for `{service}` in texts.
    /// - Returns: the page.
    /// - Throws: ``Missing`` with the first name that is neither.
    func page(_ template: String, _ values: [String: String]) throws -> String {
        try template.replacing(#/\{\{([a-z.-]+)\}\}/#) { match in
            let key = String(match.1)
            if let value = values[key] { return Self.escaped(value) }
            guard let text = texts[key]?.string else { throw Missing(key: key) }
            return Self.escaped(text.replacing("{service}", with: values["service"] ?? ""))
        }
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}
