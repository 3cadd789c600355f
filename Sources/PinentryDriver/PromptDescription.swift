import KeychainModel
import SecretMemory

/// What a box says: our words first, then who asks, then the app's reason, marked as such.
///
/// Our heading is the first line on purpose: Qt guesses from the first line alone whether a text is HTML.
struct PromptDescription {
    private static let command = "SETDESC "
    private static let lineBreak = "%0A"

    /// The octets of the `SETDESC` line, its end not counted.
    private(set) var line: [UInt8]

    /// Fills the line, the reason last: it gets the room that is left.
    ///
    /// - Parameters:
    ///   - prompt: the box.
    ///   - reserved: octets to leave free for what follows.
    init(of prompt: Prompt, reserving reserved: Int = 0) {
        var before = PromptText.ofOurs(prompt.heading)
        // Boxes without a field do not show `SETERROR`.
        if !prompt.input.hasField, let error = prompt.error { before += "\n" + PromptText.ofOurs(error) }
        before += "\n\nRequested by " + PromptText.requester(prompt.requester)
        let after = prompt.input.instruction.map { "\n\n\($0)" } ?? ""

        line = Array(Self.command.utf8) + AssuanLine.escaped(before)
        let end = AssuanLine.escaped(after)
        let left = AssuanLine.largestByteCount - line.count - end.count - reserved
        line += AssuanLine.escaped(Self.reason(prompt.reason, octets: left)) + end
    }

    /// The line with a secret after the text, and the end of the line.
    ///
    /// - Returns: nil for a secret that does not fit.
    static func line(of prompt: Prompt, showing secret: borrowing SecretBytes) -> SecretBytes? {
        guard secret.count > 0, secret.count <= largestShownByteCount else { return nil }
        // Each octet may need three.
        let description = PromptDescription(
            of: prompt,
            reserving: 3 * secret.count + 2 * lineBreak.utf8.count
        )
        var line = SecretBuffer(minimumCapacity: AssuanLine.largestByteCount + 1)
        line.append(contentsOf: description.line.span)
        for octet in (lineBreak + lineBreak).utf8 { line.append(octet) }
        AssuanLine.escape(secret, into: &line)
        line.append(UInt8(ascii: "\n"))
        return line.finish()
    }

    /// The longest secret that is shown.
    static let largestShownByteCount = 80

    private static func reason(_ reason: String, octets: Int) -> String {
        let (opening, closing) = ("\nReason it gives: \"", "\"")
        let left = octets - AssuanLine.escaped(opening + closing).count
        let text = PromptText.line(reason, characters: PromptText.largestReasonCount, octets: left)
        return text.isEmpty ? "" : opening + text + closing
    }
}

extension Prompt.Input {
    /// Whether the box has a field to type into.
    var hasField: Bool {
        switch self {
        case .secret, .newSecret, .touchOrSecret: true
        case .confirmation, .touch: false
        }
    }

    /// What a person is told to do where the field and the buttons do not say it.
    var instruction: String? {
        switch self {
        case .touch: "Touch the fingerprint sensor."
        case .touchOrSecret: "Touch the fingerprint sensor, or type the passcode."
        case .secret, .newSecret, .confirmation: nil
        }
    }
}
