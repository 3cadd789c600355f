import Foundation

/// What the person does at a prompt.
public struct TestDeed: Sendable, Hashable {
    enum Kind: Hashable {
        case usual, touches(TestFinger), typesPasscode, cancels, choosesFallback, ignores
    }

    let kind: Kind

    /// Touches the sensor again and again until the prompt is gone.
    ///
    /// At a prompt for the passcode alone, the owner of an enrolled finger types it, and anybody else cancels.
    public static func touches(_ finger: TestFinger) -> TestDeed { TestDeed(kind: .touches(finger)) }
    /// Types the passcode; where the prompt has no field, presses the fallback button first.
    public static let typesPasscode = TestDeed(kind: .typesPasscode)
    /// Presses cancel.
    public static let cancels = TestDeed(kind: .cancels)
    /// Presses the fallback button; where that leads to the passcode, types it.
    ///
    /// A prompt with a field has no such button: there it is ``typesPasscode``.
    public static let choosesFallback = TestDeed(kind: .choosesFallback)
    /// Leaves the prompt alone until it is taken away.
    public static let ignores = TestDeed(kind: .ignores)

    /// What is done after all that a test named: the enrolled finger, or the passcode where no finger helps.
    static let usual = TestDeed(kind: .usual)
}

/// A prompt as the person saw it.
public struct TestPrompt: Sendable, Hashable {
    /// The app's reason, as the prompt quotes it; empty when there is none.
    public let reason: String
    /// Who asks, as the prompt names it: the program's path, and more.
    public let program: String

    /// Reads the text of a box.
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
