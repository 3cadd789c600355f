import KeychainModel

/// Judges a new passcode by how soon it would be guessed.
///
/// Pure; reads the bytes in place and makes no copy of them.
struct PasscodeStrength: Sendable {
    /// The verdict on a passcode.
    enum Verdict: Sendable, Equatable {
        case acceptable
        case refused(Reason)
    }

    /// Why a passcode is refused.
    enum Reason: Sendable, Equatable {
        case tooShort(minimum: Int)
        case tooLong
        /// Not UTF-8, or contains characters that cannot be typed, such as NUL.
        case unusableCharacter
        case digitsOnly
        /// Consists of common words or names.
        case common
        /// Repeats itself, or follows the alphabet or the keyboard.
        case pattern

        /// The message that the prompt shows.
        var sentence: String {
            switch self {
            case .tooShort(let minimum): "Too short: use \(PasscodeStrength.rule(minimum))."
            case .tooLong: "Too long: use at most \(TypedSecret.longestByteCount) bytes."
            case .unusableCharacter: "It has a character that cannot be typed again."
            case .digitsOnly: "Digits alone are guessed too soon on this machine. Add words."
            case .common: "It is made of very common words or a known phrase. Five unrelated words are good."
            case .pattern: "It repeats itself or follows the keyboard. Use five unrelated words."
            }
        }
    }

    /// Whether hardware limits guesses to ten; without it the passcode alone has to resist guessing.
    let isGuessingLimited: Bool
    /// The user's name, which counts as a common word.
    var userName: String?

    /// The requirement, shown before anything is typed.
    var rule: String { Self.rule(shortest) }

    /// The same with its reason.
    var ruleWithReason: String {
        isGuessingLimited
            ? "\(rule), because the TPM allows ten guesses"
            : "\(rule), because without a TPM nothing limits guesses"
    }

    private static func rule(_ minimum: Int) -> String { "at least \(minimum) characters, or five words" }

    /// NIST SP 800-63B-4 advises 6 where guesses are limited.
    private var shortest: Int { isGuessingLimited ? 6 : 12 }
    /// The least number of guesses, as a power of two, by the estimate below.
    private var leastBits: Int { isGuessingLimited ? 14 : 50 }

    /// Judges a passcode.
    func judge(_ octets: Span<UInt8>) -> Verdict {
        guard octets.count <= TypedSecret.longestByteCount else { return .refused(.tooLong) }
        guard let length = Self.length(of: octets) else { return .refused(.unusableCharacter) }
        guard length >= shortest else { return .refused(.tooShort(minimum: shortest)) }
        if !isGuessingLimited, Self.isDigitsOnly(octets) { return .refused(.digitsOnly) }
        let bits = estimate(octets, lists)
        guard bits < leastBits else { return .acceptable }
        let withoutWords = estimate(octets, Guessability(knowsWords: false, userName: nil))
        // A clear pattern is reported as one, even if the list has it too: 1q2w3e4r5t6y.
        let isPattern = withoutWords <= leastBits * 3 / 5 || bits >= withoutWords
        return .refused(isPattern ? .pattern : .common)
    }

    /// The judge of an entry while it is typed into a prompt.
    var judge: NewSecretJudge {
        NewSecretJudge(rule: "A passcode has \(ruleWithReason).") { octets in
            let refusal: String? =
                switch judge(octets) {
                case .acceptable: nil
                case .refused(let reason): reason.sentence
                }
            let bits = octets.count > TypedSecret.longestByteCount ? 0 : estimate(octets, lists)
            return NewSecretJudge.Verdict(percent: min(100, 100 * bits / (2 * leastBits)), refusal: refusal)
        }
    }

    private var lists: Guessability { Guessability(knowsWords: true, userName: userName) }

    /// The estimate, in which a repeated text counts as its first occurrence plus the repetitions.
    private func estimate(_ octets: Span<UInt8>, _ guessability: Guessability) -> Int {
        let whole = guessability.bits(of: octets, upTo: octets.count)
        let period = Self.period(of: octets)
        guard period < octets.count else { return whole }
        return min(whole, guessability.bits(of: octets, upTo: period) + octets.count / period - 1)
    }

    /// The number of Unicode scalars; nil if the bytes are not text that can be typed.
    private static func length(of octets: Span<UInt8>) -> Int? {
        guard let text = try? UTF8Span(validating: octets) else { return nil }
        var scalars = text.makeUnicodeScalarIterator()
        var count = 0
        while let scalar = scalars.next() {
            guard scalar.value >= 0x20, !(0x7F...0x9F).contains(scalar.value) else { return nil }
            count += 1
        }
        return count
    }

    private static func isDigitsOnly(_ octets: Span<UInt8>) -> Bool {
        for index in octets.indices {
            switch octets[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: " "), UInt8(ascii: "-"),
                UInt8(ascii: "."), UInt8(ascii: "/"):
                continue
            default: return false
            }
        }
        return true
    }

    /// The length of the shortest prefix that the rest repeats; the whole length if there is none.
    private static func period(of octets: Span<UInt8>) -> Int {
        guard octets.count > 1 else { return max(1, octets.count) }
        for length in 1...(octets.count / 2) {
            var index = length
            while index < octets.count, octets[index] == octets[index - length] { index += 1 }
            if index == octets.count { return length }
        }
        return octets.count
    }
}
