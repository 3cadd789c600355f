import Foundation

/// What the person does at a prompt.
public struct TestDeed: Sendable, Hashable {
    enum Kind: Hashable {
        case usual, touches(TestFinger), typesPasscode, cancels, choosesFallback, ignores
    }

    let kind: Kind

    /// Touches the sensor again and again until the prompt is gone.
    ///
    /// At a prompt for the passcode alone, an enrolled finger means that the person types it; any other finger cancels.
    public static func touches(_ finger: TestFinger) -> TestDeed { TestDeed(kind: .touches(finger)) }
    /// Types the passcode; if the prompt has no field, presses the fallback button first.
    public static let typesPasscode = TestDeed(kind: .typesPasscode)
    /// Presses cancel.
    public static let cancels = TestDeed(kind: .cancels)
    /// Presses the fallback button, and types the passcode if a passcode prompt follows.
    ///
    /// A prompt with a field has no such button: there this is the same as ``typesPasscode``.
    public static let choosesFallback = TestDeed(kind: .choosesFallback)
    /// Leaves the prompt alone until it disappears.
    public static let ignores = TestDeed(kind: .ignores)

    /// The default after all queued deeds: the enrolled finger, or the passcode where a finger is not accepted.
    static let usual = TestDeed(kind: .usual)
}

/// A prompt as the person saw it.
public struct TestPrompt: Sendable, Hashable {
    /// The app's reason, as the prompt quotes it; empty when there is none.
    public let reason: String
    /// The requesting program as the prompt names it: its path, and more.
    public let program: String

    /// Parses the text of a box.
    init(_ text: String) {
        func part(after opening: String, before closing: String) -> String {
            guard let start = text.range(of: opening) else { return "" }
            let rest = text[start.upperBound...]
            return String(rest[..<(rest.range(of: closing)?.lowerBound ?? rest.endIndex)])
        }
        reason = part(after: Self.reasonOpening, before: "\"\n").trimmingSuffix("\"")
        program = part(after: "Requested by ", before: "\n")
    }

    private static let reasonOpening = "Reason it gives: \""
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: Character) -> String {
        last == suffix ? String(dropLast()) : self
    }
}
