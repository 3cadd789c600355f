internal import HTTPTypes
internal import HummingbirdCore

/// A language of the account page.
enum PageLanguage: String, CaseIterable, Sendable {
    case english = "en"
    case turkish = "tr"
    case chinese = "zh"
    case japanese = "ja"

    /// Its tag in HTML and in HTTP (RFC 5646).
    var tag: String { self == .chinese ? "zh-Hans" : rawValue }

    /// The module with its texts.
    var module: String { "\(rawValue).js" }

    /// The cookie with what somebody chose on the page; it says nothing else of them.
    static let cookie = "touchstone-language"

    /// The language for a request: the one chosen on the page, else the configured one, else the browser's first that there is,
    /// else English.
    static func of(_ request: Request, configured: PageLanguage?) -> PageLanguage {
        if let chosen = SessionCookies.value(of: cookie, in: request).flatMap(Self.init) { return chosen }
        return configured ?? preferred(request.headers[.acceptLanguage] ?? "") ?? .english
    }

    /// The number of a browser's languages that are looked at.
    private static let mostRanges = 64

    /// The language that a browser prefers, by `Accept-Language` (RFC 9110, section 12.5.4); nil: it accepts none of these.
    ///
    /// Subtags do not matter: Chinese of every region is better read in simplified characters than in English.
    static func preferred(_ field: String) -> PageLanguage? {
        var best: (language: PageLanguage, weight: Double)?
        for range in field.split(separator: ",").prefix(mostRanges) {
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let tag = parts.first else { continue }
            let language = tag == "*" ? .english : PageLanguage(rawValue: String(tag.prefix { $0 != "-" }))
            let given = parts.dropFirst().first { $0.hasPrefix("q=") }
            let weight = given.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            guard let language, weight > 0, weight <= 1, weight > best?.weight ?? 0 else { continue }
            best = (language, weight)
        }
        return best?.language
    }
}

/// The language of the account page for visitors who chose none.
public enum PageLanguageSetting: String, Sendable, CaseIterable {
    /// The browser's.
    case auto
    /// English.
    case en
    /// Turkish.
    case tr
    /// Simplified Chinese.
    case zh
    /// Japanese.
    case ja

    /// nil: the browser's.
    var language: PageLanguage? { PageLanguage(rawValue: rawValue) }
}
