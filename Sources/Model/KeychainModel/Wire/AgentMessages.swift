public import CBOR
public import SecretMemory

/// A prompt of an agent, by the number that the daemon gave it.
public struct BoxNumber: WireBody, Sendable, Equatable {
    /// The number.
    public let number: UInt64

    /// Identifies a prompt.
    public init(_ number: UInt64) { self.number = number }

    /// Writes the number.
    public func encode(to writer: inout WireWriter) { writer.write(unsigned: number) }

    /// Reads a number.
    public init(from reader: inout CBORReader) throws { number = try reader.readUnsigned() }
}

/// A prompt that is visible: `[number, place]`.
public struct ShownBox: WireBody, Sendable, Equatable {
    /// The longest description of a place, in bytes.
    public static let longestPlace = 4096

    /// The prompt's number.
    public let number: UInt64
    /// Where it is, as distinct from any other place: the terminal's session, or the servers of the display.
    ///
    /// Nil if that cannot be determined.
    public let place: String?

    /// Describes a visible prompt; a place that is too long counts as undetermined.
    public init(_ number: UInt64, at place: String?) {
        self.number = number
        self.place = place.flatMap { $0.utf8.count <= Self.longestPlace ? $0 : nil }
    }

    /// Writes the number and the place.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(unsigned: number)
        writer.write(optionalText: place)
    }

    /// Reads a visible prompt.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        number = try reader.readUnsigned()
        place = try reader.readOptional { try $0.readText() }
        guard place?.utf8.count ?? 0 <= Self.longestPlace else { throw WireError.malformed }
    }
}

/// A prompt to draw: `[number, prompt, rule, terminal type, character type, language, client, client start,
/// secret]`.
public struct AgentBox: WireBody, ~Copyable, Sendable {
    /// The prompt's unique number.
    public let number: UInt64
    /// The content of the prompt, without its judge, which stays with the daemon.
    public let prompt: Prompt
    /// The rule of the judge of a new secret; nil if there is none.
    public let rule: String?
    /// `TERM` of the request's terminal, for a prompt on it.
    public let terminalType: String?
    /// `LC_CTYPE` of the request.
    public let characterType: String?
    /// `LC_MESSAGES` of the request.
    public let language: String?
    /// The requesting process.
    public let client: PromptClient?
    /// A secret to show until the user has noted it; nil for a prompt that asks.
    public let secret: SecretBytes?

    /// Describes a prompt for a request from `origin`.
    public init(number: UInt64, prompt: Prompt, origin: PromptOrigin, secret: consuming SecretBytes?) {
        self.init(
            number: number,
            prompt: prompt,
            rule: prompt.judge?.rule,
            terminalType: origin.terminalType,
            characterType: origin.characterType,
            language: origin.language,
            client: origin.client,
            secret: secret
        )
    }

    private init(
        number: UInt64,
        prompt: Prompt,
        rule: String?,
        terminalType: String?,
        characterType: String?,
        language: String?,
        client: PromptClient?,
        secret: consuming SecretBytes?
    ) {
        self.number = number
        self.prompt = prompt
        self.rule = rule
        self.terminalType = terminalType
        self.characterType = characterType
        self.language = language
        self.client = client
        self.secret = secret
    }

    /// Writes the prompt.
    public borrowing func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 9)
        writer.write(unsigned: number)
        writer.write(prompt)
        writer.write(optionalText: rule)
        writer.write(optionalText: terminalType)
        writer.write(optionalText: characterType)
        writer.write(optionalText: language)
        writer.write(Int64(client?.process ?? 0))
        writer.write(unsigned: client?.start ?? 0)
        writer.write(optionalSecret: secret)
    }

    /// Reads a prompt.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(9)
        let number = try reader.readUnsigned()
        let prompt = try reader.readPrompt()
        let rule = try reader.readOptional { try $0.readText() }
        let terminalType = try reader.readOptional { try $0.readText() }
        let characterType = try reader.readOptional { try $0.readText() }
        let language = try reader.readOptional { try $0.readText() }
        guard let process = Int32(exactly: try reader.readInteger()) else { throw WireError.malformed }
        let start = try reader.readUnsigned()
        self.init(
            number: number,
            prompt: prompt,
            rule: rule,
            terminalType: terminalType,
            characterType: characterType,
            language: language,
            client: process > 0 ? PromptClient(process: process, start: start) : nil,
            secret: try reader.readTypedSecret()
        )
    }
}

/// The outcome of a prompt: `[number, outcome, secret, failure, detail]`.
///
/// The outcomes are 1 confirmed, 2 the first fallback, 3 cancelled, 4 timed out, 5 entered, 6 failed, and 7 to 9 the other
/// fallbacks.
public struct AgentAnswer: WireBody, ~Copyable, Sendable {
    /// How a prompt ended.
    public enum Outcome: ~Copyable, Sendable {
        /// The user acted, or let the time pass.
        case answered(PromptAnswer)
        /// The prompt could not be shown, or was removed.
        case failed(PromptError)
    }

    /// The longest secret, in bytes: the most that pinentry returns.
    public static let longestSecret = 4096

    /// The prompt's number.
    public let number: UInt64
    /// How the prompt ended.
    public let outcome: Outcome

    /// Describes the end of a prompt.
    public init(number: UInt64, outcome: consuming Outcome) {
        self.number = number
        self.outcome = outcome
    }

    /// Hands the outcome over.
    public consuming func take() -> Outcome { outcome }

    /// Writes the answer.
    public borrowing func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 5)
        writer.write(unsigned: number)
        switch outcome {
        case .answered(let answer):
            switch answer {
            case .confirmed: writer.writeOutcome(1)
            case .fallback(let index): writer.writeOutcome(PromptAnswer.outcome(ofFallback: index))
            case .cancelled: writer.writeOutcome(3)
            case .timedOut: writer.writeOutcome(4)
            case .entered(let secret):
                writer.write(unsigned: 5)
                secret.withOctets { writer.write(bytes: $0) }
                writer.writeNull()
                writer.writeNull()
            }
        case .failed(let error):
            writer.write(unsigned: 6)
            writer.writeNull()
            writer.write(text: error.code.rawValue)
            writer.write(text: error.detail)
        }
    }

    /// Reads an answer.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(5)
        let number = try reader.readUnsigned()
        let outcome = try reader.readUnsigned()
        let secret = try reader.readTypedSecret()
        let failure = try reader.readOptional { try $0.readName() }
        let detail = try reader.readOptional { try $0.readText() }
        if outcome == 6 {
            guard secret == nil, let code = failure.flatMap(PromptError.Code.init), let detail,
                detail.utf8.count <= PromptFields.longestText
            else { throw WireError.malformed }
            self.init(number: number, outcome: .failed(PromptError(code, detail: detail)))
            return
        }
        guard failure == nil, detail == nil, let answer = PromptAnswer(outcome, secret) else {
            throw WireError.malformed
        }
        self.init(number: number, outcome: .answered(answer))
    }
}

/// A new secret to rate while it is typed: `[number, secret]`.
public struct AgentDraft: WireBody, ~Copyable, Sendable {
    /// The prompt's number.
    public let number: UInt64
    /// The text typed so far.
    public let secret: SecretBytes

    /// Wraps the text typed so far.
    public init(number: UInt64, secret: consuming SecretBytes) {
        self.number = number
        self.secret = secret
    }

    /// Writes the draft.
    public borrowing func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(unsigned: number)
        secret.withOctets { writer.write(bytes: $0) }
    }

    /// Reads a draft.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        let number = try reader.readUnsigned()
        guard let secret = try reader.readTypedSecret() else { throw WireError.malformed }
        self.init(number: number, secret: secret)
    }
}

/// The judge's verdict on a draft: `[percent, refusal]`.
public struct DraftVerdict: WireBody, Sendable, Equatable {
    /// The verdict.
    public let verdict: NewSecretJudge.Verdict

    /// Wraps a verdict.
    public init(_ verdict: NewSecretJudge.Verdict) { self.verdict = verdict }

    /// Writes the verdict.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(Int64(verdict.percent))
        writer.write(optionalText: verdict.refusal)
    }

    /// Reads a verdict.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        let percent = Int(try reader.readInteger())
        verdict = NewSecretJudge.Verdict(
            percent: percent,
            refusal: try reader.readOptional { try $0.readText() }
        )
    }
}

extension PromptAnswer {
    /// The outcome's number for a fallback button.
    fileprivate static func outcome(ofFallback index: Int) -> UInt64 {
        index > 0 && index < PromptDetails.mostFallbacks ? UInt64(6 + index) : 2
    }

    /// The answer for an outcome's number; nil for an unknown number, and for a missing or unexpected secret.
    fileprivate init?(_ outcome: UInt64, _ secret: consuming SecretBytes?) {
        if outcome == 5 {
            guard let secret else { return nil }
            self = .entered(secret)
            return
        }
        guard secret == nil else { return nil }
        switch outcome {
        case 1: self = .confirmed
        case 2: self = .fallback(0)
        case 7..<UInt64(6 + PromptDetails.mostFallbacks): self = .fallback(Int(outcome) - 6)
        case 3: self = .cancelled
        case 4: self = .timedOut
        default: return nil
        }
    }
}

extension Prompt.Input {
    fileprivate static let numbers: [(Prompt.Input, UInt64)] = [
        (.secret, 1), (.newSecret, 2), (.confirmation, 3), (.touch, 4), (.touchOrSecret, 5),
    ]
}

extension WireWriter {
    /// Writes an outcome without further fields.
    fileprivate mutating func writeOutcome(_ number: UInt64) {
        write(unsigned: number)
        for _ in 0..<3 { writeNull() }
    }

    /// Writes the content of a prompt.
    ///
    /// `[input, requester, started by, others waiting, reason, title, subtitle, items, heading, field label, error, cancel title,
    /// fallback titles, milliseconds]`.
    fileprivate mutating func write(_ prompt: Prompt) {
        writeArrayHead(count: 14)
        write(unsigned: Prompt.Input.numbers.first { $0.0 == prompt.input }?.1 ?? 0)
        write(text: prompt.requester)
        write(text: prompt.startedBy)
        write(Int64(prompt.othersWaiting))
        write(text: prompt.reason)
        write(prompt.details)
        write(text: prompt.heading)
        write(text: prompt.fieldLabel)
        write(optionalText: prompt.error)
        write(optionalText: prompt.cancelTitle)
        write(fallbacks: prompt.fallbackTitles)
        let (seconds, attoseconds) = prompt.timeout.components
        write(min(max(seconds, 0), 86_400) * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}

extension CBORReader {
    fileprivate mutating func readPrompt() throws -> Prompt {
        try readFields(14)
        let number = try readUnsigned()
        guard let input = Prompt.Input.numbers.first(where: { $0.1 == number })?.0 else {
            throw WireError.malformed
        }
        let requester = try readText()
        let startedBy = try readText()
        let othersWaiting = Int(try readInteger())
        var prompt = Prompt(
            input,
            requester: requester,
            startedBy: startedBy,
            reason: try readText(),
            details: try readDetails { try $0.readText() },
            heading: try readText(),
            fieldLabel: try readText(),
            error: try readOptional { try $0.readText() },
            cancelTitle: try readOptional { try $0.readText() },
            fallbackTitles: try readFallbacks { try $0.readText() },
            timeout: .milliseconds(try readInteger())
        )
        prompt.othersWaiting = othersWaiting
        return prompt
    }

    /// Reads a secret that was typed or is to be shown into locked memory that is wiped, or null.
    fileprivate mutating func readTypedSecret() throws -> SecretBytes? {
        if try readNullIfPresent() { return nil }
        return try readBytes { (octets: Span<UInt8>) throws(KeychainError) -> SecretBytes in
            guard octets.count <= AgentAnswer.longestSecret else { throw KeychainError(.dataTooLarge) }
            return try SecretBytes(received: octets)
        }
    }
}
