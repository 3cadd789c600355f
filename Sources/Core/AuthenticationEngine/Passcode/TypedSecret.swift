import KeychainModel
import SecretMemory

/// A secret typed by the user, shared within one request and wiped with its last reference.
final class TypedSecret: Sendable {
    /// The longest passcode, in bytes.
    static let longestByteCount = 1024

    /// The bytes without one trailing newline, in Unicode's Normalization Form C.
    let octets: SecretBytes

    init(_ typed: consuming SecretBytes) {
        let count = typed.withOctets { $0.count > 0 && $0[$0.count - 1] == 0x0A ? $0.count - 1 : $0.count }
        let text =
            count == typed.count
            ? typed : typed.withOctets { SecretBytes(copying: $0.extracting(first: count)) }
        octets = NormalizationFormC.of(text)
    }

    /// Whether it can be a passcode: 1 to 1024 bytes without NUL.
    var isUsable: Bool {
        octets.withOctets { octets in
            guard octets.count > 0, octets.count <= Self.longestByteCount else { return false }
            for index in octets.indices where octets[index] == 0 { return false }
            return true
        }
    }

    /// Compares in time that depends only on the lengths.
    func matches(_ other: TypedSecret) -> Bool { octets.matches(other.octets) }
}

/// The result of a prompt, as a copyable value that tasks can pass on.
enum BoxAnswer: Sendable {
    case entered(TypedSecret)
    case confirmed
    case fallback(Int)
    case cancelled
    case timedOut
    case failed(PromptError)
    /// The prompt was dismissed by a lock, sleep or a cancelled task.
    case interrupted(Interruption)

    init(_ answer: consuming PromptAnswer) {
        switch consume answer {
        case .entered(let secret): self = .entered(TypedSecret(secret))
        case .confirmed: self = .confirmed
        case .fallback(let index): self = .fallback(index)
        case .cancelled: self = .cancelled
        case .timedOut: self = .timedOut
        }
    }
}

extension SecretPrompter {
    /// Shows a prompt and waits for its result.
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

    /// Shows a secret in a prompt and waits for its result.
    func answer(toShowing secret: TypedSecret, in prompt: Prompt, at origin: PromptOrigin) async -> BoxAnswer
    {
        do {
            return BoxAnswer(try await show(secret.octets, in: prompt, at: origin))
        } catch {
            return .failed(error)
        }
    }
}
