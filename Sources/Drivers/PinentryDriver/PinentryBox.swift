import KeychainModel
import SecretMemory

/// Shows a prompt that has been set up, and returns what the user did.
struct PinentryBox {
    /// The keyword of the status line with which the program reports that it asked twice itself.
    static let repeatedStatus = "PIN_REPEATED"

    private let commands: PinentryCommands
    private let prompt: Prompt
    private let deadline: ContinuousClock.Instant

    /// Takes over the commands; the deadline covers all prompts together.
    init(_ commands: PinentryCommands, for prompt: Prompt, deadline: ContinuousClock.Instant) {
        self.commands = commands
        self.prompt = prompt
        self.deadline = deadline
    }

    /// Asks once, or for a new secret until both entries are equal.
    func ask(
        on connection: inout AssuanConnection,
        whenShown: () -> Void
    ) throws(ExchangeFailure) -> PromptAnswer {
        while true {
            switch try put(on: &connection, whenShown: whenShown) {
            case .ended(let answer):
                return answer
            case .accepted(let first, let isRepeated):
                guard prompt.input.hasField else {
                    if commands.affirmative == .others { return try choose(on: &connection) }
                    guard let affirmativeAnswer else { continue }
                    return affirmativeAnswer
                }
                guard prompt.input == .newSecret else { return try Self.entered(first) }
                // Judged before the second entry: the user does not retype a passcode that would be refused.
                if let refusal = prompt.judge?.judge(first).refusal {
                    try set(commands.anew(prompt, refusal), on: &connection)
                    continue
                }
                guard !isRepeated else { return try Self.entered(first) }
                // A flavour without a second field, such as curses: a second prompt.
                try set(PinentryCommands.again(commands.flavor), on: &connection)
                switch try put(on: &connection, isFollowUp: true, whenShown: whenShown) {
                case .ended(let answer):
                    return answer
                case .accepted(let second, _):
                    if first.matches(second) { return try Self.entered(first) }
                }
                try set(commands.anew(prompt, PinentryCommands.repeatError), on: &connection)
            }
        }
    }

    /// Offers the named fallbacks one after another, and again from the first, until the user takes one or cancels.
    ///
    /// The sensor stays armed: each page has the text of the prompt.
    private func choose(on connection: inout AssuanConnection) throws(ExchangeFailure) -> PromptAnswer {
        let count = prompt.fallbackTitles?.count ?? 0
        var index = 0
        while true {
            try set(commands.page(index, of: prompt), on: &connection)
            var answer = try putOnce(on: &connection, whenShown: {})
            if answer.error == .windowTooSmall, let brief {
                try set([brief], on: &connection)
                answer = try putOnce(on: &connection, whenShown: {})
            }
            guard let code = answer.error else { return .fallback(index) }
            switch code.meaning {
            case .cancelled:
                let isLast = index == count - 1
                guard commands.flavor.isGNOME ? !isLast : code.isNegative else { return .cancelled }
                index = isLast ? 0 : index + 1
            case .timedOut: return .timedOut
            case .notInteractive, .undrawable, .failed:
                throw .refused(code, command: commands.show.command)
            }
        }
    }

    private enum End: ~Copyable {
        case accepted(SecretBytes, isRepeated: Bool)
        case ended(PromptAnswer)
    }

    /// Shows one prompt, again for as long as its answer began before the user could have read it.
    ///
    /// With `isFollowUp` the user's own answer led to this prompt, and what is typed is meant for it.
    private func put(
        on connection: inout AssuanConnection,
        isFollowUp: Bool = false,
        whenShown: () -> Void
    ) throws(ExchangeFailure) -> End {
        let keys = isFollowUp ? nil : connection.keys
        while true {
            if let keys, try keys.begin() { try set(early, on: &connection) }
            let end = try putUnwatched(on: &connection, whenShown: whenShown)
            guard keys?.end() == true else { return end }
            switch consume end {
            // A cancelled prompt judges nothing, and the user may be quick to refuse it.
            case .ended(let answer): return .ended(answer)
            case .accepted: try set(early, on: &connection)
            }
        }
    }

    private func putUnwatched(
        on connection: inout AssuanConnection,
        whenShown: () -> Void
    ) throws(ExchangeFailure) -> End {
        var answer = try putOnce(on: &connection, whenShown: whenShown)
        if answer.error == .windowTooSmall, let brief {
            try set([brief], on: &connection)
            answer = try putOnce(on: &connection, whenShown: whenShown)
        }
        if let code = answer.error {
            switch code.meaning {
            case .cancelled: return .ended(.cancelled)
            case .timedOut: return .ended(.timedOut)
            case .notInteractive, .undrawable, .failed: throw .refused(code, command: commands.show.command)
            }
        }
        let isRepeated = answer.statuses.contains(Self.repeatedStatus)
        return .accepted(answer.takeData(), isRepeated: isRepeated)
    }

    private func putOnce(
        on connection: inout AssuanConnection,
        whenShown: () -> Void
    ) throws(ExchangeFailure) -> AssuanAnswer {
        try connection.send([commands.show.octets], until: deadline)
        whenShown()
        return try connection.answer(until: deadline, judgedBy: prompt.judge)
    }

    /// The text of a prompt that is shown again because its answer began too early.
    static let earlyText = "What was typed before this prompt was discarded."

    /// The lines that say so; none for a prompt whose description is a secret to note, which is just shown again.
    private var early: [PinentryCommands.Line] {
        if prompt.input.hasField { return commands.anew(prompt, Self.earlyText) }
        guard !commands.showsSecret else { return [] }
        var noted = prompt
        noted.error = Self.earlyText
        let description = PromptDescription(of: noted, flavor: commands.flavor)
        return [PinentryCommands.Line(octets: description.line, isRequired: true)]
    }

    /// A shorter description without the app's texts, for a terminal of a few lines: the requester is more
    /// important.
    private var brief: PinentryCommands.Line? {
        guard !prompt.reason.isEmpty || !prompt.details.isEmpty, !commands.showsSecret else { return nil }
        var brief = prompt
        brief.reason = ""
        brief.details = PromptDetails()
        let description = PromptDescription(of: brief, flavor: commands.flavor)
        return PinentryCommands.Line(octets: description.line, isRequired: true)
    }

    private func set(
        _ lines: [PinentryCommands.Line],
        on connection: inout AssuanConnection
    ) throws(ExchangeFailure) {
        for line in lines {
            let answer = try connection.transact(commands.flavor.drawable(line.octets), until: deadline)
            if line.isRequired, let code = answer.error { throw .refused(code, command: line.command) }
        }
    }

    private static func entered(_ secret: consuming SecretBytes) throws(ExchangeFailure) -> PromptAnswer {
        let isText = secret.withOctets { (try? UTF8Span(validating: $0)) != nil }
        guard isText else { throw .malformed("an answer that is not UTF-8") }
        return .entered(secret)
    }

    /// Nil if the prompt is shown again.
    private var affirmativeAnswer: PromptAnswer? {
        switch commands.affirmative {
        case .waits, .others: nil
        case .confirmed: .confirmed
        case .fallback: .fallback(0)
        case .cancelled: .cancelled
        }
    }
}
