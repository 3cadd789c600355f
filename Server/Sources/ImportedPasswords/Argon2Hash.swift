internal import CArgon2
internal import Crypto
internal import Foundation

/// A hash of argon2id or argon2i (RFC 9106) in the text form of its reference implementation:
/// `$argon2id$v=19$m=65536,t=3,p=4$salt$hash`.
struct Argon2Hash: Sendable {
    private let type: argon2_type
    private let version: UInt32
    /// KiB.
    private let memory: UInt32
    private let passes: UInt32
    private let lanes: UInt32
    private let salt: [UInt8]
    private let hash: [UInt8]

    /// - Throws: ``ImportedPassword/Refusal`` for a malformed text or a cost beyond ``CostLimit``.
    init(_ text: String) throws(ImportedPassword.Refusal) {
        var parts = text.split(separator: "$", omittingEmptySubsequences: false).dropFirst()
        type = parts.removeFirst() == "argon2id" ? Argon2_id : Argon2_i
        switch parts.first {
        case "v=19":
            version = 19
            parts.removeFirst()
        case "v=16":
            version = 16
            parts.removeFirst()
        // The first version had no such field.
        default: version = 16
        }
        guard parts.count == 3, let costs = parts.popFirst().flatMap(Self.costs),
            let salt = parts.popFirst().flatMap(Self.bytes), (8...64).contains(salt.count),
            let hash = parts.popFirst().flatMap(Self.bytes), (16...64).contains(hash.count)
        else {
            throw .init(
                description:
                    "is not $argon2id$v=19$m=…,t=…,p=…$salt$hash with a salt of 8 to 64 bytes and a hash of 16 to 64"
            )
        }
        let (m, t, p) = costs
        guard (1...CostLimit.lanes).contains(p), t >= 1, m >= 8 * p, m <= CostLimit.memory >> 10,
            t <= CostLimit.filled, m * t <= CostLimit.filled
        else {
            throw .init(
                description:
                    "has costs out of range: at most \(CostLimit.text), m · t = \(CostLimit.filled) KiB and p = \(CostLimit.lanes); at least t = 1 and m = 8 · p"
            )
        }
        (memory, passes, lanes) = (UInt32(m), UInt32(t), UInt32(p))
        (self.salt, self.hash) = (salt, hash)
    }

    /// `m=…,t=…,p=…`, without a key id or further data.
    private static func costs(_ text: Substring) -> (m: Int, t: Int, p: Int)? {
        let fields = text.split(separator: ",", omittingEmptySubsequences: false)
        guard fields.count == 3 else { return nil }
        var numbers: [Int] = []
        for (name, field) in zip(["m", "t", "p"], fields) {
            let digits = field.dropFirst(2)
            guard field.hasPrefix("\(name)="), (1...10).contains(digits.utf8.count),
                digits.utf8.allSatisfy((UInt8(48)...57).contains), let number = Int(digits)
            else { return nil }
            numbers.append(number)
        }
        return (numbers[0], numbers[1], numbers[2])
    }

    /// Base64 without padding.
    private static func bytes(_ text: Substring) -> [UInt8]? {
        guard !text.contains("=") else { return nil }
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text + padding).map(Array.init)
    }

    /// Whether a password matches; compares in constant time.
    ///
    /// - Throws: ``LibraryFailure``.
    func matches(_ password: [UInt8]) throws -> Bool {
        var (password, salt) = (password, salt)
        var derived = [UInt8](repeating: 0, count: hash.count)
        let status = derived.withUnsafeMutableBufferPointer { out in
            password.withUnsafeMutableBufferPointer { password in
                salt.withUnsafeMutableBufferPointer { salt in
                    var context = argon2_context()
                    (context.out, context.outlen) = (out.baseAddress, UInt32(out.count))
                    (context.pwd, context.pwdlen) = (password.baseAddress, UInt32(password.count))
                    (context.salt, context.saltlen) = (salt.baseAddress, UInt32(salt.count))
                    (context.t_cost, context.m_cost, context.lanes) = (passes, memory, lanes)
                    // The caller's thread computes all lanes: how many passwords are derived at a time is the pool's decision.
                    context.threads = 1
                    context.version = version
                    return argon2_ctx(&context, type)
                }
            }
        }
        guard status == ARGON2_OK.rawValue else {
            throw LibraryFailure(description: "argon2: \(String(cString: argon2_error_message(status)))")
        }
        return SymmetricKey(data: derived) == SymmetricKey(data: hash)
    }
}
