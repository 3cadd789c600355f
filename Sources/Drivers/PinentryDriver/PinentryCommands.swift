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

    /// What the only or the first button of a prompt without a field stands for.
    enum Affirmative { case confirmed, fallback, cancelled, waits }

    /// The options that say where to draw.
    static func options(for place: PromptPlace) -> [Line] {
        var lines: [Line] = []
        if let terminal = place.terminal {
            lines.append(Line("OPTION ttyname=\(terminal)", isRequired: true))
            lines.append(Line("OPTION ttytype=\(place.terminalType)"))
        }
        lines.append(Line("OPTION lc-ctype=\(place.characterType)"))
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
        let cancel = prompt.cancelTitle.nonEmpty ?? "Cancel"
        switch prompt.input {
        case _ where showsSecret:
            labels = Self.buttons(PromptText.button("OK"), cancel: nil)
            (show, affirmative) = (Line("CONFIRM --one-button", isRequired: true), .confirmed)
        case .secret, .newSecret, .touchOrSecret:
            labels = Self.field(for: prompt, flavor) + Self.buttons(PromptText.button("OK"), cancel: cancel)
            (show, affirmative) = (Line("GETPIN", isRequired: true), .confirmed)
        case .confirmation:
            labels = Self.buttons(PromptText.button("OK"), cancel: cancel)
            (show, affirmative) = (Line("CONFIRM", isRequired: true), .confirmed)
        case .touch where prompt.fallbackTitle == "" && flavor.isGNOME:
            // GNOME always shows a second button: here one that keeps the prompt, for a user who presses it believing
            // that a touch has to be confirmed.
            labels = Self.buttons(PromptText.button("Keep Waiting"), cancel: cancel)
            (show, affirmative) = (Line("CONFIRM", isRequired: true), .waits)
        case .touch where prompt.fallbackTitle == "":
            labels = Self.buttons(PromptText.button(cancel), cancel: nil)
            (show, affirmative) = (Line("CONFIRM --one-button", isRequired: true), .cancelled)
        case .touch:
            let fallback =
                prompt.fallbackTitle.map { PromptText.button($0) } ?? ("Use _Passcode\u{2026}", "p")
            labels = Self.buttons(fallback, cancel: cancel)
            (show, affirmative) = (Line("CONFIRM", isRequired: true), .fallback)
        }
        if flavor.isGNOME {
            labels.removeAll { $0.command == "SETPROMPT" }
            labels.append(Line(escaping: "SETPROMPT ", PromptText.ofOurs(prompt.heading)))
        }
        settings = [Line("SETTITLE Touchstone"), Line("SETTIMEOUT \(prompt.timeoutInSeconds)")] + labels
    }

    private static func field(for prompt: Prompt, _ flavor: PinentryFlavor) -> [Line] {
        var lines = [label(prompt.fieldLabel)]
        if let error = prompt.error { lines.append(self.error(error, flavor)) }
        if prompt.input == .newSecret, flavor.asksTwice {
            if let judge = prompt.judge {
                lines.append(Line(escaping: "SETQUALITYBAR ", qualityLabel))
                lines.append(Line(escaping: "SETQUALITYBAR_TT ", PromptText.ofOurs(judge.rule)))
            }
            lines.append(Line(escaping: "SETREPEAT ", repeatLabel))
            lines.append(Line(escaping: "SETREPEATERROR ", repeatError))
        }
        return lines
    }

    private static func buttons(_ affirmative: (title: String, key: Character?), cancel: String?) -> [Line] {
        var lines = [Line(escaping: "SETOK ", affirmative.title)]
        if let cancel {
            let title = PromptText.button(cancel, avoiding: affirmative.key).title
            lines.append(Line(escaping: "SETCANCEL ", title))
        }
        return lines
    }

    /// The lines that ask for a second entry in another prompt.
    static func again(_ flavor: PinentryFlavor) -> [Line] {
        [label(flavor.isGNOME ? "Type it again, to be sure" : repeatLabel)]
    }

    /// The lines that ask again after `message`.
    func anew(_ prompt: Prompt, _ message: String) -> [Line] {
        [
            flavor.isGNOME ? Self.label(prompt.heading) : Self.label(prompt.fieldLabel),
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
        let text = PromptText.ofOurs(text)
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
