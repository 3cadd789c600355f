/// What the prompt says, and how long it stays; a string literal is its reason.
///
/// ```swift
/// var prompt: PromptText = "Pay 12.30 EUR to Alice"
/// prompt.title = "Example Bank"
/// prompt.timeout = .seconds(30)
/// ```
public struct PromptText: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// Why the user is asked: one sentence, of at least one character.
    ///
    /// The prompt names the program itself, as the system knows it; on Linux it shows at most 200 characters of title,
    /// subtitle, reason and items together, in one line.
    public var reason: String
    /// A heading in front of the reason; nil for none.
    public var title: String?
    /// A second heading; nil for none.
    public var subtitle: String?
    /// What the reason is about, one thing each, such as the lines of an order.
    public var items: [String]
    /// The words on the cancel button; nil for the system's.
    public var cancelLabel: String?
    /// The words on the fallback button; nil for the system's, empty for no such button.
    public var fallbackLabel: String?
    /// How long the call may take until the prompt is taken away and ``TouchstoneError/Code/timedOut`` is thrown.
    ///
    /// More than 0 s, at most 300 s. On Linux the daemon takes a prompt away after 120 s by itself, one that only waits for a
    /// finger after 30 s.
    public var timeout: Duration

    /// A prompt with a reason.
    public init(_ reason: String, timeout: Duration = .seconds(60)) {
        self.reason = reason
        self.timeout = timeout
        items = []
    }

    /// A prompt with a reason.
    public init(stringLiteral reason: String) { self.init(reason) }

    /// For a call that was given no text: says that the app wants access.
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

    /// - Throws: ``TouchstoneError`` with `limitExceeded` and the limit.
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
