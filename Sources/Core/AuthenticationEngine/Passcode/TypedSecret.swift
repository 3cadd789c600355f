import KeychainModel
import SecretMemory

/// What a person typed, shared by those who handle it within one request and wiped when the last lets go.
final class TypedSecret: Sendable {
    /// Longer entries are no passcodes.
    static let longestByteCount = 1024

    /// The bytes without one newline at the end, in Unicode's Normalization Form C.
    let octets: SecretBytes

    init(_ typed: consuming SecretBytes) {
        let count = typed.withOctets { $0.count > 0 && $0[$0.count - 1] == 0x0A ? $0.count - 1 : $0.count }
        let text =
            count == typed.count
            ? typed : typed.withOctets { SecretBytes(copying: $0.extracting(first: count)) }
        octets = NormalizationFormC.of(text)
    }

    /// Whether it can be a passcode at all: 1 to 1024 bytes without NUL.
    var isUsable: Bool {
        octets.withOctets { octets in
            guard octets.count > 0, octets.count <= Self.longestByteCount else { return false }
            for index in octets.indices where octets[index] == 0 { return false }
            return true
        }
    }

    /// Compares in time that depends on the lengths alone.
    func matches(_ other: TypedSecret) -> Bool { octets.matches(other.octets) }
}

/// What became of a box, in a form that tasks can hand on.
enum BoxAnswer: Sendable {
    case entered(TypedSecret)
    case confirmed
    case fallback
    case cancelled
    case timedOut
    case failed(PromptError)
    /// Taken away by somebody else.
    case interrupted(Interruption)

    init(_ answer: consuming PromptAnswer) {
        switch consume answer {
        case .entered(let secret): self = .entered(TypedSecret(secret))
        case .confirmed: self = .confirmed
        case .fallback: self = .fallback
        case .cancelled: self = .cancelled
        case .timedOut: self = .timedOut
        }
    }
}

extension SecretPrompter {
    /// Shows a box and waits for its end.
    func answer(
        to prompt: Prompt,
        at origin: PromptOrigin,
        whenShown: @escaping @Sendable (() -> PromptChannel?) -> Void = { _ in }
    ) async -> BoxAnswer {
        do {
            return BoxAnswer(try await ask(prompt, at: origin, whenShown: whenShown))
        } catch {
            return .failed(error)
        }
    }

    /// Shows a secret and waits for the end of its box.
    func answer(toShowing secret: TypedSecret, in prompt: Prompt, at origin: PromptOrigin) async -> BoxAnswer
    {
        do {
            return BoxAnswer(try await show(secret.octets, in: prompt, at: origin))
        } catch {
            return .failed(error)
        }
    }
}
