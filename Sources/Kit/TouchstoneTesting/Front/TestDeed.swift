import Foundation

/// What the person does at a prompt.
public struct TestDeed: Sendable, Hashable {
    enum Kind: Hashable {
        case usual, touches(TestFinger), typesPasscode, mistypesPasscode, cancels, choosesFallback(Int),
            ignores
    }

    let kind: Kind

    /// Touches the sensor again and again until the prompt is gone.
    ///
    /// At a prompt for the passcode alone, an enrolled finger means that the person types it; any other finger cancels. At a prompt that
    /// asks for the passcode before the finger, as after a lock, the person types it first.
    public static func touches(_ finger: TestFinger) -> TestDeed { TestDeed(kind: .touches(finger)) }
    /// Types the passcode; if the prompt has no field, presses the fallback button first.
    public static let typesPasscode = TestDeed(kind: .typesPasscode)
    /// Types wrong passcodes until the prompt says that the person has to wait, or is gone; then presses cancel.
    public static let mistypesPasscode = TestDeed(kind: .mistypesPasscode)
    /// Presses cancel.
    public static let cancels = TestDeed(kind: .cancels)
    /// Presses the fallback button, and types the passcode if a passcode prompt follows.
    ///
    /// A prompt with a field has no such button: there this is the same as ``typesPasscode``.
    public static let choosesFallback = TestDeed(kind: .choosesFallback(0))
    /// The same with the fallback of this number, from 0, of those that the prompt names.
    public static func choosesFallback(_ index: Int) -> TestDeed { TestDeed(kind: .choosesFallback(index)) }
    /// Leaves the prompt alone until it disappears.
    public static let ignores = TestDeed(kind: .ignores)

    /// The default after all queued deeds: the enrolled finger, or the passcode where a finger is not accepted.
    static let usual = TestDeed(kind: .usual)
}

/// A prompt as the person saw it.
public struct TestPrompt: Sendable, Hashable {
    /// The app's reason, as the prompt quotes it; empty when there is none.
    public let reason: String
    /// The app's title, as the prompt quotes it; nil for none.
    public let title: String?
    /// The app's subtitle, as the prompt quotes it; nil for none.
    public let subtitle: String?
    /// The app's items, as the prompt quotes them.
    public let items: [String]
    /// The requesting program as the prompt names it: its path, and more.
    public let program: String
    /// Our own lines.
    let ours: [String]
    /// Whether the prompt accepts a finger on the sensor.
    var takesFinger: Bool { ours.contains { $0.contains("Touch the fingerprint sensor") } }

    /// Parses the text of a box.
    init(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        func quoted(_ label: String) -> [String] {
            lines.filter { $0.hasPrefix(label + "\"") }.map { $0.dropFirst(label.count + 1).trimmingQuote() }
        }
        reason = quoted(Self.labels[0]).first ?? ""
        title = quoted(Self.labels[1]).first
        subtitle = quoted(Self.labels[2]).first
        items = quoted(Self.labels[3])
        let requester = "Requested by "
        program =
            lines.first { $0.hasPrefix(requester) }.map { String($0.dropFirst(requester.count)) } ?? ""
        ours = lines.filter { line in !Self.labels.contains { line.hasPrefix($0 + "\"") } }
    }

    /// Whether both say the same of the requesting program and of what it says.
    func isOfSameRequest(as other: TestPrompt) -> Bool {
        (reason, title, subtitle) == (other.reason, other.title, other.subtitle) && items == other.items
            && program == other.program
    }

    /// What stands before the app's texts, each of which is one line.
    private static let labels = ["Reason it gives: ", "Its title: ", "Its subtitle: ", "- "]
}

extension Substring {
    fileprivate func trimmingQuote() -> String { String(last == "\"" ? dropLast() : self) }
}
