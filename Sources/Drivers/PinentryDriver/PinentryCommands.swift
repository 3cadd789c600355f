import KeychainModel

/// The lines that set up a prompt, in order, and the line that shows it.
///
/// `SETKEYINFO` and the option `allow-external-password-cache` are never sent: a desktop's keyring would store the
/// passcode.
struct PinentryCommands {
    /// A line, and whether its refusal prevents the prompt.
    struct Line: Equatable {
        var octets: [UInt8]
        var isRequired: Bool

        init(_ text: String, isRequired: Bool = false) {
            self.init(octets: Array(text.utf8), isRequired: isRequired)
        }

        init(octets: [UInt8], isRequired: Bool) {
            self.octets = octets
            self.isRequired = isRequired
        }

        /// The command's name, for an error.
        var command: String {
            String(decoding: octets.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
        }
    }

    /// The labels and the limits; the description is separate, because it may contain a secret.
    let settings: [Line]
    /// `GETPIN` or a form of `CONFIRM`.
    let show: Line
    /// Whether the description ends in a secret.
    let showsSecret: Bool
    /// What the affirmative answer means for a prompt without a field.
    let affirmative: Affirmative
    /// The pinentry variant that draws the prompt.
    let flavor: PinentryFlavor

    /// What the only or the first button of a prompt without a field stands for; `others` leads to the named fallbacks.
    enum Affirmative { case confirmed, fallback, others, cancelled, waits }

    /// The options that say where to draw.
    static func options(for place: PromptPlace) -> [Line] {
        var lines: [Line] = []
        if let terminal = place.terminal {
            lines.append(Line("OPTION ttyname=\(terminal)", isRequired: true))
            lines.append(Line("OPTION ttytype=\(place.terminalType)"))
        }
        lines.append(Line("OPTION lc-ctype=\(place.characterType)"))
        if let language = place.language { lines.append(Line("OPTION lc-messages=\(language)")) }
        if let display = place.display { lines.append(Line("OPTION display=\(display)")) }
        // A keyboard grab would keep the user from checking what the requester is.
        lines.append(Line("OPTION no-grab"))
        return lines
    }

    /// Chooses the lines for a prompt.
    ///
    /// - Parameters:
    ///   - prompt: the content of the prompt.
    ///   - showsSecret: whether the description ends in a secret to note; the prompt then has one button.
    ///   - flavor: the pinentry variant that draws it.
    init(for prompt: Prompt, showsSecret: Bool = false, flavor: PinentryFlavor = PinentryFlavor(name: "")) {
        self.showsSecret = showsSecret
        self.flavor = flavor
        var labels: [Line]
        let words = flavor.words
        let cancel = prompt.cancelTitle.nonEmpty ?? words("Cancel")
        switch prompt.input {
        case _ where showsSecret:
            labels = Self.buttons(PromptText.button(words("OK")), cancel: nil, flavor)
            (show, affirmative) = (Line("CONFIRM --one-button", isRequired: true), .confirmed)
        case .secret, .newSecret, .touchOrSecret:
            labels =
                Self.field(for: prompt, flavor)
                + Self.buttons(PromptText.button(words("OK")), cancel: cancel, flavor)
            (show, affirmative) = (Line("GETPIN", isRequired: true), .confirmed)
        case .confirmation:
            labels = Self.buttons(PromptText.button(words("OK")), cancel: cancel, flavor)
            (show, affirmative) = (Line("CONFIRM", isRequired: true), .confirmed)
        case .touch where prompt.fallbackTitles == [] && flavor.isGNOME:
            // GNOME always shows a second button: here one that keeps the prompt, for a user who presses it believing
            // that a touch has to be confirmed.
            labels = Self.buttons(PromptText.button(words("Keep Waiting")), cancel: cancel, flavor)
            (show, affirmative) = (Line("CONFIRM", isRequired: true), .waits)
        case .touch where prompt.fallbackTitles == []:
            labels = Self.buttons(PromptText.button(cancel), cancel: nil, flavor)
            (show, affirmative) = (Line("CONFIRM --one-button", isRequired: true), .cancelled)
        case .touch where prompt.fallbackTitles?.count ?? 1 > 1:
            labels = Self.buttons(PromptText.button(words("Another Way\u{2026}")), cancel: cancel, flavor)
            (show, affirmative) = (Line("CONFIRM", isRequired: true), .others)
        case .touch:
            let fallback =
                prompt.fallbackTitles?.first.map { PromptText.button($0) } ?? Self.passcodeButton(words)
            labels = Self.buttons(fallback, cancel: cancel, flavor)
            (show, affirmative) = (Line("CONFIRM", isRequired: true), .fallback)
        }
        if flavor.isGNOME {
            labels.removeAll { $0.command == "SETPROMPT" }
            labels.append(Line(escaping: "SETPROMPT ", PromptText.ofOurs(words(prompt.heading))))
        }
        settings = [Line("SETTITLE Touchstone"), Line("SETTIMEOUT \(prompt.timeoutInSeconds)")] + labels
    }

    private static func field(for prompt: Prompt, _ flavor: PinentryFlavor) -> [Line] {
        let words = flavor.words
        var lines = [label(words(prompt.fieldLabel))]
        if let error = prompt.error { lines.append(self.error(error, flavor)) }
        if prompt.input == .newSecret, flavor.asksTwice {
            if let judge = prompt.judge {
                lines.append(Line(escaping: "SETQUALITYBAR ", words(qualityLabel)))
                lines.append(Line(escaping: "SETQUALITYBAR_TT ", PromptText.ofOurs(words(judge.rule))))
            }
            lines.append(Line(escaping: "SETREPEAT ", words(repeatLabel)))
            lines.append(Line(escaping: "SETREPEATERROR ", words(repeatError)))
        }
        return lines
    }

    /// The default fallback button.
    private static func passcodeButton(_ words: PromptWords) -> (title: String, key: Character?) {
        words == .english
            ? ("Use _Passcode\u{2026}", "p") : PromptText.button(words("Use Passcode\u{2026}"))
    }

    private static func buttons(
        _ affirmative: (title: String, key: Character?),
        cancel: String?,
        _ flavor: PinentryFlavor
    ) -> [Line] {
        let affirmative = keyed(affirmative, "1", flavor)
        var lines = [Line(escaping: "SETOK ", affirmative.title)]
        if let cancel {
            let title = keyed(PromptText.button(cancel, avoiding: affirmative.key), "0", flavor).title
            lines.append(Line(escaping: "SETCANCEL ", title))
        }
        return lines
    }

    /// A button with a key: on tty, which has no other way to press it, a digit for a title without Latin letters.
    private static func keyed(
        _ button: (title: String, key: Character?),
        _ digit: Character,
        _ flavor: PinentryFlavor
    ) -> (title: String, key: Character?) {
        guard flavor.name == "tty", button.key == nil else { return button }
        return ("\(button.title) (_\(digit))", digit)
    }

    /// The lines of a page that offers one of several named fallbacks: a button with its title, one for the next page, and
    /// cancel.
    ///
    /// A page has no field: nothing that an app names can pass for the entry of the passcode. GNOME has two buttons, so
    /// there cancelling leads to the next page, and ends the prompt on the last one.
    ///
    /// - Parameters:
    ///   - index: the fallback's number, from 0.
    ///   - prompt: a prompt with several fallbacks.
    /// - Returns: the lines.
    func page(_ index: Int, of prompt: Prompt) -> [Line] {
        let titles = prompt.fallbackTitles ?? []
        let title = PromptText.button(titles[index])
        var noted = prompt
        noted.error = "Another way: \(index + 1) of \(titles.count)."
        let description = Line(
            octets: PromptDescription(of: noted, flavor: flavor).line,
            isRequired: true
        )
        let words = flavor.words
        let cancel = prompt.cancelTitle.nonEmpty ?? words("Cancel")
        guard !flavor.isGNOME else {
            let second = index < titles.count - 1 ? words("Next") : cancel
            return [description] + Self.buttons(title, cancel: second, flavor)
        }
        let cancelKey = PromptText.button(cancel, avoiding: title.key).key
        let next = PromptText.button(words("Next"), avoiding: title.key, cancelKey)
        return [description] + Self.buttons(title, cancel: cancel, flavor) + [
            Line(escaping: "SETNOTOK ", Self.keyed(next, "2", flavor).title)
        ]
    }

    /// The lines that ask for a second entry in another prompt.
    static func again(_ flavor: PinentryFlavor) -> [Line] {
        [label(flavor.words(flavor.isGNOME ? "Type it again, to be sure" : repeatLabel))]
    }

    /// The lines that ask again after `message`.
    func anew(_ prompt: Prompt, _ message: String) -> [Line] {
        [
            Self.label(flavor.words(flavor.isGNOME ? prompt.heading : prompt.fieldLabel)),
            Self.error(message, flavor),
        ]
    }

    /// The label of the quality bar for a new secret.
    static let qualityLabel = "Strength:"
    /// The label of the second field.
    static let repeatLabel = "Again:"
    /// The error when the two entries differ.
    static let repeatError = "The two are not the same."

    /// The line that sets the error text.
    ///
    /// Curses cuts an error off at the terminal's width, but wraps the description.
    static func error(_ text: String, _ flavor: PinentryFlavor) -> Line {
        let text = PromptText.ofOurs(flavor.words(text))
        let columns = 56
        return Line(
            escaping: "SETERROR ",
            flavor.drawsOnTerminal ? PromptText.broken(text, columns: columns) : text
        )
    }

    /// The line that labels the field.
    static func label(_ text: String) -> Line {
        Line(escaping: "SETPROMPT ", PromptText.label(text))
    }
}

extension PinentryCommands.Line {
    /// A command and its escaped text.
    init(escaping command: String, _ text: String) {
        self.init(command)
        octets += AssuanLine.escaped(text)
    }
}

extension Prompt {
    /// Whole seconds, at least 1, at most an hour.
    var timeoutInSeconds: Int64 {
        let (seconds, attoseconds) = timeout.components
        return min(max(attoseconds > 0 ? seconds + 1 : seconds, 1), 3600)
    }
}

extension String? {
    fileprivate var nonEmpty: String? { self?.isEmpty == false ? self : nil }
}
