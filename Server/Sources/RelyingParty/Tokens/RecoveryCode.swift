internal import Crypto
internal import SecureRandom

/// A code that a user keeps on paper, to get into the account once when nothing else signs in.
///
/// 120 random bits as 24 letters and digits in groups of four (Crockford's base 32). Letters that look like digits are not
/// used, and are read as those digits. So many bits cannot be guessed, so a plain hash is enough for a store (ASVS 6.5.2 asks
/// for 112).
public struct RecoveryCode: Sendable, Equatable {
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    private static let digitCount = 24
    private static let groupDigitCount = 4

    /// The digits, without separators.
    private let digits: [Character]

    /// Creates a random code.
    public init() {
        // 256 is a multiple of 32, so that all digits are equally likely.
        digits = SecureRandom.bytes(Self.digitCount).map { Self.alphabet[Int($0) % Self.alphabet.count] }
    }

    /// Reads a code as somebody typed it: in capitals or not, with hyphens and blanks anywhere; nil: it is none.
    public init?(_ text: String) {
        var digits: [Character] = []
        for letter in text.uppercased() where !letter.isWhitespace && letter != "-" {
            let digit: Character =
                switch letter {
                case "O": "0"
                case "I", "L": "1"
                default: letter
                }
            guard Self.alphabet.contains(digit), digits.count < Self.digitCount else { return nil }
            digits.append(digit)
        }
        guard digits.count == Self.digitCount else { return nil }
        self.digits = digits
    }

    /// The text for the user, such as `7K3M-…`; a secret.
    public var text: String {
        stride(from: 0, to: digits.count, by: Self.groupDigitCount)
            .map { String(digits[$0..<$0 + Self.groupDigitCount]) }.joined(separator: "-")
    }

    /// What a server stores: the SHA-256 of the account's id and the digits, 32 bytes.
    ///
    /// - Parameter account: the account's id.
    /// - Returns: the digest, which is another one for the same code of another account.
    public func digest(for account: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: account + Array(String(digits).utf8)))
    }
}
