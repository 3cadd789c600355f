/// The text of a prompt and its timeout; a string literal is the reason.
///
/// ```swift
/// var prompt: PromptText = "Pay 12.30 EUR to Alice"
/// prompt.title = "Example Bank"
/// prompt.items = ["From: Giro 12", "On: 1 March"]
/// prompt.timeout = .seconds(30)
/// ```
///
/// The prompt itself shows the program's name first, as the system knows it, and marks each of these texts as the app's. On
/// Linux each is a line of its own; Apple's systems show them in one, as the reason.
///
/// An app cannot draw the prompt itself: whatever it drew could say something else than what the keychain then releases, and
/// could ask for the passcode, which only the keychain's own prompt program receives.
public struct PromptText: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// Why the app asks: one sentence of 1 to 200 characters.
    public var reason: String
    /// A heading, at most 60 characters; nil for none.
    public var title: String?
    /// A second heading, at most 60 characters; nil for none.
    public var subtitle: String?
    /// Details of the reason, such as the lines of an order: at most eight, each at most 80 characters.
    ///
    /// Title, subtitle, reason and items have at most 480 bytes together, because a prompt program takes lines of 1,000.
    public var items: [String]
    /// The title of the cancel button, at most 40 characters; nil for the system's default.
    public var cancelLabel: String?
    /// The titles of the fallback buttons, at most four of 1 to 40 characters; nil for the system's default button, empty for
    /// no button.
    ///
    /// The call throws ``TouchstoneError/Code/fallbackChosen``, and ``TouchstoneError/fallbackIndex`` says which one was chosen.
    /// A prompt with a field for the passcode has none of them. Apple's systems show the first one only.
    public var fallbacks: [String]?
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

    /// The longest timeout.
    static let longestTimeout: Duration = .seconds(300)

    /// Title, subtitle, reason and items, in one line.
    var line: String {
        var line =
            [title, subtitle].compactMap(\.self).filter { !$0.isEmpty }.map { $0 + ": " }.joined() + reason
        if !items.isEmpty { line += " (\(items.joined(separator: "; ")))" }
        return line
    }
}
