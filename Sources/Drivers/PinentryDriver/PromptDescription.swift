import KeychainModel
import SecretMemory

/// The text of a prompt: our heading, then the requester, then what the app says, marked as such.
///
/// Each of the app's texts is one line: it begins with our label and is in quotation marks, so that none can begin as our own
/// lines do.
/// The heading is the first line on purpose: Qt guesses from the first line alone whether a text is HTML.
struct PromptDescription {
    private static let command = "SETDESC "
    private static let lineBreak = "%0A"

    /// The bytes of the `SETDESC` line, without its line end.
    private(set) var line: [UInt8]

    /// Builds the line; the app's texts get the room that is left.
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
        let words = flavor.words
        // GNOME's prompt shows the heading separately.
        var before = flavor.isGNOME ? "" : PromptText.ofOurs(words(prompt.heading))
        // Prompts without a field do not show `SETERROR`.
        if !prompt.input.hasField, let error = prompt.error {
            before += (before.isEmpty ? "" : "\n") + PromptText.ofOurs(words(error))
        }
        before += (before.isEmpty ? "" : "\n\n") + words("Requested by ")
        let requester = PromptText.requester(prompt.requester)
        // A letter without its marks could name another program.
        before += flavor.drawsASCII ? String(requester.map { $0.isASCII ? $0 : "?" }) : requester
        switch prompt.othersWaiting {
        case ...0: break
        case 1: before += "\n" + words("One more request waits for the same.")
        case let count: before += "\n" + words("\(count) more requests wait for the same.")
        }
        let after = prompt.instruction.map { "\n\n" + words($0) } ?? ""

        line = Array(Self.command.utf8) + AssuanLine.escaped(before)
        let end = AssuanLine.escaped(after)
        var left = AssuanLine.largestByteCount - line.count - end.count - reserved
        let starters = Self.starters(of: prompt, words, octets: left)
        line += AssuanLine.escaped(starters)
        left -= AssuanLine.escaped(starters).count
        line += AssuanLine.escaped(Self.texts(of: prompt, words, octets: left)) + end
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

    /// The line that says what started the program, as far as there is room; empty without anything to say.
    private static func starters(of prompt: Prompt, _ words: PromptWords, octets: Int) -> String {
        let label = "\n" + words("Started by ")
        let room = min(octets - AssuanLine.escaped(label).count, PromptText.largestByteCount)
        let names = PromptText.line(
            prompt.startedBy,
            characters: PromptText.largestRequesterCount,
            octets: room
        )
        return names.isEmpty ? "" : label + names
    }

    /// The app's texts, each on a line of its own after our label; an ellipsis alone stands for lines without room.
    private static func texts(of prompt: Prompt, _ words: PromptWords, octets: Int) -> String {
        let details = prompt.details
        let texts =
            [
                (words("Its title: "), details.title ?? "", PromptDetails.longestTitle),
                (words("Its subtitle: "), details.subtitle ?? "", PromptDetails.longestTitle),
                (words("Reason it gives: "), prompt.reason, PromptDetails.longestReason),
            ]
            + details.items.prefix(PromptDetails.mostItems).map {
                ("- ", $0, PromptDetails.longestItem)
            }
        let rest = "\n\u{2026}"
        let restCount = AssuanLine.escaped(rest).count
        var shownTexts = ""
        var left = octets
        for (index, (label, text, characters)) in texts.enumerated() {
            let (opening, closing) = ("\n\(label)\"", "\"")
            let reserved = index < texts.count - 1 ? restCount : 0
            let room = left - AssuanLine.escaped(opening + closing).count - reserved
            let shown = PromptText.line(text, characters: characters, octets: room)
            guard !shown.isEmpty else {
                let isCut = !PromptText.line(text, characters: 1).isEmpty
                guard isCut else { continue }
                return left >= restCount ? shownTexts + rest : shownTexts
            }
            shownTexts += opening + shown + closing
            left -= AssuanLine.escaped(opening + shown + closing).count
        }
        return shownTexts
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
