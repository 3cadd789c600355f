import KeychainModel
import SecretMemory

/// Puts up a box that has been described, and tells what the person did.
struct PinentryBox {
    /// The keyword of the status line that says that the program itself asked twice.
    static let repeatedStatus = "PIN_REPEATED"

    private let commands: PinentryCommands
    private let prompt: Prompt
    private let deadline: ContinuousClock.Instant

    /// Takes over the commands; the deadline is for all boxes together.
    init(_ commands: PinentryCommands, for prompt: Prompt, deadline: ContinuousClock.Instant) {
        self.commands = commands
        self.prompt = prompt
        self.deadline = deadline
    }

    /// Asks once, or for a new secret until both entries are the same.
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
                    guard let affirmativeAnswer else { continue }
                    return affirmativeAnswer
                }
                guard prompt.input == .newSecret else { return try Self.entered(first) }
                // Before it is asked for again: nobody types a passcode twice that is refused then.
                if let refusal = prompt.judge?.judge(first).refusal {
                    try set(commands.anew(prompt, refusal), on: &connection)
                    continue
                }
                guard !isRepeated else { return try Self.entered(first) }
                // A flavour that does not ask twice, such as curses: a second box.
                try set(PinentryCommands.again(commands.flavor), on: &connection)
                switch try put(on: &connection, whenShown: whenShown) {
                case .ended(let answer):
                    return answer
                case .accepted(let second, _):
                    if first.matches(second) { return try Self.entered(first) }
                }
                try set(commands.anew(prompt, PinentryCommands.repeatError), on: &connection)
            }
        }
    }

    private enum End: ~Copyable {
        case accepted(SecretBytes, isRepeated: Bool)
        case ended(PromptAnswer)
    }

    private func put(
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
            case .notInteractive, .failed: throw .refused(code, command: commands.show.command)
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

    /// For a terminal of a few lines: who asks goes before what it says.
    private var brief: PinentryCommands.Line? {
        guard !prompt.reason.isEmpty, !commands.showsSecret else { return nil }
        var brief = prompt
        brief.reason = ""
        let description = PromptDescription(of: brief, flavor: commands.flavor)
        return PinentryCommands.Line(octets: description.line, isRequired: true)
    }

    private func set(
        _ lines: [PinentryCommands.Line],
        on connection: inout AssuanConnection
    ) throws(ExchangeFailure) {
        for line in lines {
            let answer = try connection.transact(line.octets, until: deadline)
            if line.isRequired, let code = answer.error { throw .refused(code, command: line.command) }
        }
    }

    private static func entered(_ secret: consuming SecretBytes) throws(ExchangeFailure) -> PromptAnswer {
        let isText = secret.withOctets { (try? UTF8Span(validating: $0)) != nil }
        guard isText else { throw .malformed("an answer that is not UTF-8") }
        return .entered(secret)
    }

    /// Nil where the box comes back.
    private var affirmativeAnswer: PromptAnswer? {
        switch commands.affirmative {
        case .waits: nil
        case .confirmed: .confirmed
        case .fallback: .fallback
        case .cancelled: .cancelled
        }
    }
}
