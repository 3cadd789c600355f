internal import RelyingParty

/// A password hash that another program made, in one of the common text forms.
///
/// It is verified by the library of its scheme until its owner signs in with it; then the server stores its own form
/// (``PasswordHash``).
public struct ImportedPassword: Sendable {
    /// Why a text is not accepted; the text itself, which is secret, is not in it.
    public struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
        /// What is wrong.
        public let description: String
    }

    private enum Scheme: Sendable {
        case scrypt(PasswordHash)
        case argon2(Argon2Hash)
        case crypt(CryptHash)
    }

    private let scheme: Scheme

    /// The text to store.
    public let text: String

    /// Reads bcrypt (`$2a$`, `$2b$`, `$2y$`), argon2 (`$argon2id$`, `$argon2i$`), scrypt (`$scrypt$` as passlib writes it, `$7$`)
    /// or yescrypt (`$y$`).
    ///
    /// - Throws: ``Refusal`` for another or a malformed form, and for a cost beyond ``CostLimit``.
    public init(_ text: String) throws(Refusal) {
        self.text = text
        let name = text.split(separator: "$", maxSplits: 2, omittingEmptySubsequences: false)
        guard name.count == 3, name[0].isEmpty else { throw Self.unknown }
        switch name[1] {
        case "scrypt":
            guard let hash = PasswordHash(text) else {
                throw Refusal(
                    description:
                        "is not $scrypt$ln=…,r=…,p=…$salt$hash with a hash of 32 bytes, within \(CostLimit.text)"
                )
            }
            let cost = hash.cost
            try CostLimit.check(blocks: cost.r << cost.ln, passes: cost.p)
            scheme = .scrypt(hash)
        case "argon2id", "argon2i": scheme = .argon2(try Argon2Hash(text))
        case "2a", "2b", "2y", "y", "7": scheme = .crypt(try CryptHash(text))
        default: throw Self.unknown
        }
    }

    private static let unknown = Refusal(
        description:
            "has none of the forms $2a$, $2b$, $2y$ (bcrypt), $argon2id$, $argon2i$, $scrypt$, $7$ (scrypt), $y$ (yescrypt)"
    )

    /// Whether a password matches, as typed or in Unicode's normal form C; compares in constant time.
    ///
    /// Uses the memory and time of the hash, so run it in a pool (``DerivationPool``).
    ///
    /// - Throws: the library's error, such as when memory is short.
    public func matches(_ password: String) throws -> Bool {
        switch scheme {
        case .scrypt(let hash): return try hash.matches(password)
        case .argon2(let hash): return try Self.forms(of: password).contains { try hash.matches($0) }
        case .crypt(let hash): return try Self.forms(of: password).contains { try hash.matches($0) }
        }
    }

    /// The bytes as typed, then those of the normal form if they differ: the other program may have hashed either.
    private static func forms(of password: String) -> [[UInt8]] {
        let (typed, composed) = (Array(password.utf8), NormalForm.composed(password))
        return typed == composed ? [typed] : [typed, composed]
    }
}
