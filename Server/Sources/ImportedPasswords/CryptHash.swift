internal import CCrypt
internal import Crypto
internal import Foundation

/// A hash that crypt(3) of the system verifies: bcrypt, yescrypt, and scrypt in its `$7$` form (crypt(5)).
struct CryptHash: Sendable {
    private let text: String

    /// The alphabet of crypt(5), in which a character is 6 bits.
    private static let alphabet = Array(
        "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8
    )

    /// - Throws: ``ImportedPassword/Refusal`` for a malformed text or a cost beyond ``CostLimit``.
    init(_ text: String) throws(ImportedPassword.Refusal) {
        self.text = text
        let parts = text.split(separator: "$", omittingEmptySubsequences: false).map { Array($0.utf8) }
        switch text.dropFirst().prefix(while: { $0 != "$" }) {
        case "y": try Self.checkYescrypt(parts)
        case "7": try Self.checkScrypt(parts)
        default: try Self.checkBcrypt(parts)
        }
    }

    /// `$2b$`, two digits of cost, `$`, 22 characters of salt and 31 of hash.
    private static func checkBcrypt(_ parts: [[UInt8]]) throws(ImportedPassword.Refusal) {
        guard parts.count == 4, parts[2].count == 2, parts[2].allSatisfy((UInt8(48)...57).contains),
            let cost = Int(String(decoding: parts[2], as: UTF8.self)), cost >= 4,
            parts[3].count == 53, isCoded(parts[3])
        else { throw malformed("bcrypt") }
        guard cost <= CostLimit.bcrypt else {
            throw .init(description: "costs too much: at most \(CostLimit.bcrypt) for bcrypt")
        }
    }

    /// `$y$`, a character each for the variant, N and r, `$`, salt, `$`, 43 characters of hash.
    private static func checkYescrypt(_ parts: [[UInt8]]) throws(ImportedPassword.Refusal) {
        guard parts.count == 5, parts[2].count == 3, parts[2][0] == UInt8(ascii: "j"), isCoded(parts[2]),
            let ln = value(parts[2][1]), let r = value(parts[2][2]), ln < 47, r < 47,
            (1...86).contains(parts[3].count), isCoded(parts[3]), parts[4].count == 43, isCoded(parts[4])
        else { throw malformed("yescrypt") }
        // Both count from 1.
        guard ln + 1 <= 20 else { throw CostLimit.exceeded }
        try CostLimit.check(blocks: (r + 1) << (ln + 1), passes: 1)
    }

    /// `$7$`, one character for N, five each for r and p, salt, `$`, 43 characters of hash.
    private static func checkScrypt(_ parts: [[UInt8]]) throws(ImportedPassword.Refusal) {
        guard parts.count == 4, (12...97).contains(parts[2].count), isCoded(parts[2]),
            parts[3].count == 43, isCoded(parts[3]),
            let ln = value(parts[2][0]), let r = number(parts[2][1..<6]), let p = number(parts[2][6..<11]),
            ln >= 1, r >= 1, p >= 1
        else { throw malformed("scrypt in the form $7$") }
        guard ln <= 20, r <= 1024 else { throw CostLimit.exceeded }
        try CostLimit.check(blocks: r << ln, passes: p)
    }

    private static func malformed(_ scheme: String) -> ImportedPassword.Refusal {
        .init(description: "is no complete hash of \(scheme)")
    }

    private static func isCoded(_ bytes: [UInt8]) -> Bool { bytes.allSatisfy(alphabet.contains) }

    private static func value(_ byte: UInt8) -> Int? { alphabet.firstIndex(of: byte) }

    /// A number of 30 bits, whose low bits are first.
    private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
        bytes.reversed().reduce(0) { sum, byte in
            guard let sum, let value = value(byte) else { return nil }
            return sum << 6 | value
        }
    }

    /// Whether a password matches; compares in constant time.
    ///
    /// - Throws: ``LibraryFailure``.
    func matches(_ password: [UInt8]) throws -> Bool {
        // The function reads a C string of less than 512 bytes. What it cannot read costs as much, and does not match.
        let isReadable = !password.contains(0) && password.count < CRYPT_MAX_PASSPHRASE_SIZE
        let phrase = isReadable ? password : Array("x".utf8)
        let work = UnsafeMutableRawPointer.allocate(byteCount: Self.workBytes, alignment: 16)
        defer { work.deallocate() }
        work.initializeMemory(as: UInt8.self, repeating: 0, count: Self.workBytes)
        let found = (phrase + [0]).withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                characters.baseAddress.flatMap { crypt_rn($0, text, work, CInt(Self.workBytes)) }
            }
        }
        guard let found else {
            throw LibraryFailure(description: "crypt: \(String(cString: strerror(errno)))")
        }
        let isEqual =
            SymmetricKey(data: Data(String(cString: found).utf8)) == SymmetricKey(data: Data(text.utf8))
        return isEqual && isReadable
    }

    /// The size of `struct crypt_data`, which has arrays that are not imported.
    private static let workBytes = 32_768
}

/// A library could not verify a hash.
struct LibraryFailure: Error, CustomStringConvertible {
    /// The library's message.
    let description: String
}
