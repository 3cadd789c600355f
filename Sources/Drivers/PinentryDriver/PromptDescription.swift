import KeychainModel
import SecretMemory

/// The text of a prompt: our heading, then the requester, then the app's reason, marked as such.
///
/// The heading is the first line on purpose: Qt guesses from the first line alone whether a text is HTML.
struct PromptDescription {
    private static let command = "SETDESC "
    private static let lineBreak = "%0A"

    /// The bytes of the `SETDESC` line, without its line end.
    private(set) var line: [UInt8]

    /// Builds the line; the reason gets the room that is left.
    ///
    /// - Parameters:
    ///   - prompt: the content of the prompt.
    ///   - flavor: the pinentry variant that draws it.
    ///   - reserved: bytes to leave free for what follows.
    init(
        of prompt: Prompt,
        flavor: PinentryFlavor = PinentryFlavor(name: ""),
        reserving reserved: Int = 0
    ) {
        // GNOME's prompt shows the heading separately.
        var before = flavor.isGNOME ? "" : PromptText.ofOurs(prompt.heading)
        // Prompts without a field do not show `SETERROR`.
        if !prompt.input.hasField, let error = prompt.error {
            before += (before.isEmpty ? "" : "\n") + PromptText.ofOurs(error)
        }
        before += (before.isEmpty ? "" : "\n\n") + "Requested by "
        let requester = PromptText.requester(prompt.requester)
        // A letter without its marks could name another program.
        before += flavor.drawsASCII ? String(requester.map { $0.isASCII ? $0 : "?" }) : requester
        switch prompt.othersWaiting {
        case ...0: break
        case 1: before += "\nOne more request waits for the same."
        case let count: before += "\n\(count) more requests wait for the same."
        }
        let after = prompt.instruction.map { "\n\n\($0)" } ?? ""

        line = Array(Self.command.utf8) + AssuanLine.escaped(before)
        let end = AssuanLine.escaped(after)
        let left = AssuanLine.largestByteCount - line.count - end.count - reserved
        line += AssuanLine.escaped(Self.reason(prompt.reason, octets: left)) + end
        line = flavor.drawable(line)
    }

    /// The text of a touch prompt, as a pinentry program of this flavour would show it.
    static func text(of prompt: Prompt, flavor: PinentryFlavor) -> String {
        var octets = SecretBuffer(minimumCapacity: AssuanLine.largestByteCount)
        let line = Array(PromptDescription(of: prompt, flavor: flavor).line.dropFirst(command.utf8.count))
        _ = AssuanLine.decode(line.span, into: &octets)
        return octets.finish().withOctets { octets in
            String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self)
        }
    }

    /// The line with a secret after the text, and the line end.
    ///
    /// - Returns: nil for a secret that does not fit.
    static func line(
        of prompt: Prompt,
        flavor: PinentryFlavor = PinentryFlavor(name: ""),
        showing secret: borrowing SecretBytes
    ) -> SecretBytes? {
        guard secret.count > 0, secret.count <= largestShownByteCount else { return nil }
        // Escaping may triple each byte.
        let description = PromptDescription(
            of: prompt,
            flavor: flavor,
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
    /// Whether the prompt has a field to type into.
    var hasField: Bool {
        switch self {
        case .secret, .newSecret, .touchOrSecret: true
        case .confirmation, .touch: false
        }
    }

}

extension Prompt {
    /// The instruction to the user, unless the heading, the field and the buttons already say it.
    fileprivate var instruction: String? {
        guard !heading.contains("sensor") else { return nil }
        return switch input {
        case .touch: "Touch the fingerprint sensor."
        case .touchOrSecret: "Touch the fingerprint sensor, or type the passcode."
        case .secret, .newSecret, .confirmation: nil
        }
    }
}
