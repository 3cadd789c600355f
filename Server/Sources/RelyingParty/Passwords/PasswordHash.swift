internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import SecureRandom

/// A password as it is stored: scrypt (RFC 7914), as a PHC string that other programs read too:
/// `$scrypt$ln=15,r=8,p=3$salt$hash`, both in base64 without padding.
public struct PasswordHash: Sendable, Equatable, CustomStringConvertible {
    /// What the derivation costs.
    public struct Cost: Sendable, Equatable {
        /// The binary logarithm of N: memory is 128 · r · 2^ln bytes.
        public let ln: Int
        /// The block size.
        public let r: Int
        /// How often it is done.
        public let p: Int

        /// One of OWASP's equal settings: 32 MiB.
        public static let standard = Cost(ln: 15, r: 8, p: 3)

        /// Describes a cost.
        public init(ln: Int, r: Int, p: Int) {
            self.ln = ln
            self.r = r
            self.p = p
        }

        /// What a stored text may ask for: more than 256 MiB or 16 rounds were not made here.
        var isAcceptable: Bool {
            (1...20).contains(ln) && (1...32).contains(r) && (1...16).contains(p)
                && 128 * r << ln <= 256 << 20
        }
    }

    /// What it cost.
    public let cost: Cost
    /// 16 bytes.
    let salt: [UInt8]
    /// 32 bytes.
    let hash: [UInt8]

    /// The PHC string.
    public var description: String {
        "$scrypt$ln=\(cost.ln),r=\(cost.r),p=\(cost.p)$\(Self.base64(salt))$\(Self.base64(hash))"
    }

    /// Reads a stored text; nil when it is none of scrypt, or asks for more than it may.
    public init?(_ text: String) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "scrypt" else { return nil }
        var numbers: [Int] = []
        for (name, part) in zip(
            ["ln", "r", "p"],
            parts[2].split(separator: ",", omittingEmptySubsequences: false)
        ) {
            guard part.hasPrefix("\(name)="), let number = Int(part.dropFirst(name.count + 1)) else {
                return nil
            }
            numbers.append(number)
        }
        guard numbers.count == 3, parts[2].split(separator: ",").count == 3 else { return nil }
        cost = Cost(ln: numbers[0], r: numbers[1], p: numbers[2])
        guard cost.isAcceptable, let salt = Self.bytes(parts[3]), let hash = Self.bytes(parts[4]),
            !salt.isEmpty, hash.count == 32
        else { return nil }
        self.salt = salt
        self.hash = hash
    }

    /// Derives a new one, with a salt of its own; takes what ``cost`` takes, so that a pool runs it
    /// (``DerivationPool``).
    ///
    /// - Throws: what the library throws when memory is short.
    public init(password: String, cost: Cost = .standard) throws {
        let salt = SecureRandom.bytes(16)
        self.cost = cost
        self.salt = salt
        hash = try Self.derive(password, salt, cost)
    }

    /// Whether a password is the one; compares in constant time.
    ///
    /// - Throws: what the library throws when memory is short.
    public func matches(_ password: String) throws -> Bool {
        let derived = SymmetricKey(data: try Self.derive(password, salt, cost))
        // SymmetricKey compares in constant time.
        return derived == SymmetricKey(data: hash)
    }

    /// Whether it was made with another cost than it is now made with: then it is made anew at the next login.
    public func needsRehash(_ wanted: Cost = .standard) -> Bool { cost != wanted }

    /// OpaqueString of RFC 8265, section 4.2, as far as Foundation has it: normalised to NFC, other spaces to U+0020.
    private static func prepared(_ password: String) -> [UInt8] {
        let scalars = password.unicodeScalars.map { scalar in
            scalar.properties.generalCategory == .spaceSeparator ? " " : scalar
        }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        return Array(String(text).precomposedStringWithCanonicalMapping.utf8)
    }

    private static func derive(_ password: String, _ salt: [UInt8], _ cost: Cost) throws -> [UInt8] {
        let key = try KDF.Scrypt.deriveKey(
            from: prepared(password),
            salt: salt,
            outputByteCount: 32,
            rounds: 1 << cost.ln,
            blockSize: cost.r,
            parallelism: cost.p
        )
        return key.withUnsafeBytes { Array($0) }
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("=", with: "")
    }

    private static func bytes(_ text: Substring) -> [UInt8]? {
        guard !text.contains("=") else { return nil }
        let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
        return Data(base64Encoded: text + padding).map(Array.init)
    }
}
