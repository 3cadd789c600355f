internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import SecureRandom

/// A stored password: scrypt (RFC 7914), as a PHC string that other programs can read:
/// `$scrypt$ln=15,r=8,p=3$salt$hash`, both in base64 without padding.
public struct PasswordHash: Sendable, Equatable, CustomStringConvertible {
    /// The cost of the derivation.
    public struct Cost: Sendable, Equatable {
        /// The binary logarithm of N: memory is 128 · r · 2^ln bytes.
        public let ln: Int
        /// The block size.
        public let r: Int
        /// The parallelisation parameter.
        public let p: Int

        /// One of OWASP's equivalent settings: 32 MiB.
        public static let standard = Cost(ln: 15, r: 8, p: 3)

        /// Creates a cost.
        public init(ln: Int, r: Int, p: Int) {
            self.ln = ln
            self.r = r
            self.p = p
        }

        /// Whether a stored text may request this cost: more than 256 MiB or 16 rounds was not created here.
        var isAcceptable: Bool {
            (1...20).contains(ln) && (1...32).contains(r) && (1...16).contains(p)
                && 128 * r << ln <= 256 << 20
        }
    }

    /// The cost it was derived with.
    public let cost: Cost
    /// 16 bytes.
    let salt: [UInt8]
    /// 32 bytes.
    let hash: [UInt8]

    /// The PHC string.
    public var description: String {
        "$scrypt$ln=\(cost.ln),r=\(cost.r),p=\(cost.p)$\(Self.base64(salt))$\(Self.base64(hash))"
    }

    /// Parses a stored text; nil when it is not scrypt, or its cost is too high.
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

    /// Derives a hash with a new salt; uses the memory and time of ``cost``, so run it in a pool (``DerivationPool``).
    ///
    /// - Throws: the library's error when memory is short.
    public init(password: String, cost: Cost = .standard) throws {
        let salt = SecureRandom.bytes(16)
        self.cost = cost
        self.salt = salt
        hash = try Self.derive(password, salt, cost)
    }

    /// Whether a password matches; compares in constant time.
    ///
    /// - Throws: the library's error when memory is short.
    public func matches(_ password: String) throws -> Bool {
        let derived = SymmetricKey(data: try Self.derive(password, salt, cost))
        // SymmetricKey compares in constant time.
        return derived == SymmetricKey(data: hash)
    }

    /// Whether its cost differs from the wanted one: then the next login rehashes it.
    public func needsRehash(_ wanted: Cost = .standard) -> Bool { cost != wanted }

    /// OpaqueString of RFC 8265, section 4.2, as far as Foundation supports it: normalised to NFC, other spaces to
    /// U+0020.
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
