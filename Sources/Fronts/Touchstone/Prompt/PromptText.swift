/// The text of a prompt and its timeout; a string literal is the reason.
///
/// ```swift
/// var prompt: PromptText = "Pay 12.30 EUR to Alice"
/// prompt.title = "Example Bank"
/// prompt.timeout = .seconds(30)
/// ```
public struct PromptText: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// Why the app asks: one sentence of at least one character.
    ///
    /// The prompt itself shows the program's name, as the system knows it. On Linux it shows title, subtitle, reason
    /// and items in one line of at most 200 characters.
    public var reason: String
    /// A heading in front of the reason; nil for none.
    public var title: String?
    /// A second heading; nil for none.
    public var subtitle: String?
    /// Details of the reason, one per element, such as the lines of an order.
    public var items: [String]
    /// The title of the cancel button; nil for the system's default.
    public var cancelLabel: String?
    /// The title of the fallback button; nil for the system's default, empty for no button.
    public var fallbackLabel: String?
    /// The time after which the prompt is removed and the call throws ``TouchstoneError/Code/timedOut``.
    ///
    /// More than 0 s, at most 300 s. On Linux the daemon removes every prompt after 120 s, and one that only waits for a
    /// finger after 30 s.
    public var timeout: Duration

    /// Makes a prompt with a reason.
    public init(_ reason: String, timeout: Duration = .seconds(60)) {
        self.reason = reason
        self.timeout = timeout
        items = []
    }

    /// Makes a prompt with a reason.
    public init(stringLiteral reason: String) { self.init(reason) }

    /// The prompt of calls without a text of their own: says that the app wants access.
    public static let standard = PromptText("Use what this app keeps in your keychain")

    /// The longest text of each part, in bytes of UTF-8.
    static let longestText = 4096
    /// The longest timeout.
    static let longestTimeout: Duration = .seconds(300)

    /// Title, subtitle, reason and items, in one line.
    var line: String {
        var line =
            [title, subtitle].compactMap(\.self).filter { !$0.isEmpty }.map { $0 + ": " }.joined() + reason
        if !items.isEmpty { line += " (\(items.joined(separator: "; ")))" }
        return line
    }

    /// - Throws: ``TouchstoneError`` with `limitExceeded`; its details name the limit.
    func check() throws(TouchstoneError) {
        guard !reason.isEmpty else { throw .limit("reason: at least 1 character") }
        for text in [line, cancelLabel ?? "", fallbackLabel ?? ""] {
            guard text.utf8.count <= Self.longestText, !text.utf8.contains(0) else {
                throw .limit("text of a prompt: at most \(Self.longestText) bytes, none of them 0")
            }
        }
        guard timeout > .zero, timeout <= Self.longestTimeout else {
            throw .limit("timeout: more than 0 s, at most 300 s")
        }
    }
}
