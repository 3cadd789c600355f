import Crypto
import CryptoExtras
import Glibc
import MessageBus
import ModularArithmetic
import SecretMemory

/// How the secrets of one session travel: as they are, or encrypted for the client (the specification's "Transfer of Secrets").
///
/// The encryption hides a secret from whoever only records the bus, and from no program of the same user.
final class TransferSession: Sendable {
    /// The only algorithm beside `plain`.
    private static let agreement = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
    private static let blockByteCount = 16
    /// The second group of Oakley: 1024 bits (RFC 2409, section 6.2).
    private static let prime: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xC9, 0x0F, 0xDA, 0xA2, 0x21, 0x68, 0xC2, 0x34,
        0xC4, 0xC6, 0x62, 0x8B, 0x80, 0xDC, 0x1C, 0xD1, 0x29, 0x02, 0x4E, 0x08, 0x8A, 0x67, 0xCC, 0x74,
        0x02, 0x0B, 0xBE, 0xA6, 0x3B, 0x13, 0x9B, 0x22, 0x51, 0x4A, 0x08, 0x79, 0x8E, 0x34, 0x04, 0xDD,
        0xEF, 0x95, 0x19, 0xB3, 0xCD, 0x3A, 0x43, 0x1B, 0x30, 0x2B, 0x0A, 0x6D, 0xF2, 0x5F, 0x14, 0x37,
        0x4F, 0xE1, 0x35, 0x6D, 0x6D, 0x51, 0xC2, 0x45, 0xE4, 0x85, 0xB5, 0x76, 0x62, 0x5E, 0x7E, 0xC6,
        0xF4, 0x4C, 0x42, 0xE9, 0xA6, 0x37, 0xED, 0x6B, 0x0B, 0xFF, 0x5C, 0xB6, 0xF4, 0x06, 0xB7, 0xED,
        0xEE, 0x38, 0x6B, 0xFB, 0x5A, 0x89, 0x9F, 0xA5, 0xAE, 0x9F, 0x24, 0x11, 0x7C, 0x4B, 0x1F, 0xE6,
        0x49, 0x28, 0x66, 0x51, 0xEC, 0xE6, 0x53, 0x81, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    ]

    /// The key of an encrypted session; nil for a plain one.
    private let key: SymmetricKey?

    private init(key: SymmetricKey?) { self.key = key }

    /// Opens a session.
    ///
    /// - Parameters:
    ///   - algorithm: `plain`, or the agreement.
    ///   - input: an empty string, or the client's public value, big-endian, at most 128 bytes.
    /// - Returns: the session, and what the client gets: an empty string, or the door's public value of 128 bytes.
    /// - Throws: ``BusFault``: not supported for another algorithm, invalid arguments for a value that hides nothing.
    static func open(
        _ algorithm: String,
        _ input: BusValue
    ) throws(BusFault) -> (session: TransferSession, output: BusValue) {
        switch (algorithm, input) {
        case ("plain", .string): return (TransferSession(key: nil), .string(""))
        case (agreement, .octets(let theirs)):
            let (key, ours) = try agree(with: theirs.plain)
            do throws(SecretMemoryError) {
                return (TransferSession(key: key), .octets(try BusOctets(copying: ours)))
            } catch {
                throw .noMemory
            }
        case ("plain", _), (agreement, _): throw .invalidArguments("the input does not fit the algorithm")
        default: throw .notSupported("neither plain nor \(agreement)")
        }
    }

    private static func agree(
        with theirs: [UInt8]
    ) throws(BusFault) -> (key: SymmetricKey, ours: [UInt8]) {
        let value = Array(theirs.drop { $0 == 0 })
        let count = prime.count
        guard theirs.count <= count, let modulus = MontgomeryModulus(prime) else {
            throw .invalidArguments("a public value of more than \(count) bytes")
        }
        var last = prime
        last[count - 1] -= 1
        let padded = [UInt8](repeating: 0, count: count - value.count) + value
        // 0, 1 and prime - 1 make a secret that everybody knows.
        guard value.count > 1 || (value.first ?? 0) > 1, padded != last else {
            throw .invalidArguments("a public value that hides nothing")
        }
        var exponent = RandomBytes.array(count: 32)
        defer { wipe(&exponent) }
        var two = [UInt8](repeating: 0, count: count)
        two[count - 1] = 2
        guard var shared = modulus.raise(padded, to: exponent), let ours = modulus.raise(two, to: exponent)
        else {
            throw .invalidArguments("a public value that is not below the prime")
        }
        defer { wipe(&shared) }
        // No salt and no info.
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: shared),
            outputByteCount: blockByteCount
        )
        return (key, ours)
    }

    // MARK: Secrets

    /// A secret for the client: the parameters and the value of the specification's `Secret`.
    func seal(_ secret: Span<UInt8>) throws(BusFault) -> (parameters: BusOctets, value: BusOctets) {
        do throws(SecretMemoryError) {
            guard let key else {
                let value = try SecretBytes(lockedCopy: secret)
                return (try BusOctets(copying: []), BusOctets(value))
            }
            let size = Self.blockByteCount
            let vector = RandomBytes.array(count: size)
            let padding = size - secret.count % size
            let value = try SecretBytes(lockedCount: secret.count + padding) { octets in
                for index in secret.indices { octets[index] = secret[index] }
                for index in secret.count..<octets.count { octets[index] = UInt8(padding) }
                Self.chain(&octets, after: vector, key, encrypts: true)
            }
            return (try BusOctets(copying: vector), BusOctets(value))
        } catch {
            throw .noMemory
        }
    }

    /// The secret of a client.
    ///
    /// - Throws: ``BusFault``: invalid arguments for what this session's key did not encrypt.
    func open(parameters: BusOctets, value: BusOctets) throws(BusFault) -> SecretBytes {
        let size = Self.blockByteCount
        let count = value.secret.count
        if key != nil, parameters.secret.count != size || count == 0 || count % size != 0 {
            throw .invalidArguments("an encrypted secret has whole blocks and a vector of \(size) bytes")
        }
        do throws(SecretMemoryError) {
            guard let key else { return try value.secret.lockedCopy() }
            let vector = parameters.plain
            let padded = try value.secret.withOctets { octets throws(SecretMemoryError) in
                try SecretBytes(lockedCount: count) { copy in
                    for index in octets.indices { copy[index] = octets[index] }
                    Self.chain(&copy, after: vector, key, encrypts: false)
                }
            }
            if let secret = try padded.withOctets(Self.withoutPadding) { return secret }
        } catch {
            throw .noMemory
        }
        throw .invalidArguments("the secret is not of this session")
    }

    /// What comes before the padding (PKCS #7); nil without one.
    private static func withoutPadding(_ octets: Span<UInt8>) throws(SecretMemoryError) -> SecretBytes? {
        let padding = Int(octets[octets.count - 1])
        let end = octets.count - padding
        guard (1...blockByteCount).contains(padding),
            (end..<octets.count).allSatisfy({ octets[$0] == UInt8(padding) })
        else { return nil }
        return try SecretBytes(lockedCopy: octets.extracting(0..<end))
    }

    /// AES-CBC in place, on whole blocks.
    private static func chain(
        _ octets: inout MutableSpan<UInt8>,
        after vector: [UInt8],
        _ key: SymmetricKey,
        encrypts: Bool
    ) {
        unsafe octets.withUnsafeMutableBufferPointer { octets in
            var previous = vector
            defer { wipe(&previous) }
            for start in stride(from: 0, to: octets.count, by: blockByteCount) {
                var block = unsafe UnsafeMutableBufferPointer(
                    rebasing: octets[start..<start + blockByteCount]
                )
                if encrypts {
                    for index in 0..<blockByteCount { unsafe block[index] ^= previous[index] }
                    unsafe permute(&block, key, encrypts: true)
                    for index in 0..<blockByteCount { unsafe previous[index] = block[index] }
                } else {
                    let sealed = unsafe Array(block)
                    unsafe permute(&block, key, encrypts: false)
                    for index in 0..<blockByteCount { unsafe block[index] ^= previous[index] }
                    previous = sealed
                }
            }
        }
    }

    private static func permute(
        _ block: inout UnsafeMutableBufferPointer<UInt8>,
        _ key: SymmetricKey,
        encrypts: Bool
    ) {
        do {
            if encrypts {
                unsafe try AES.permute(&block, key: key)
            } else {
                unsafe try AES.inversePermute(&block, key: key)
            }
        } catch {
            preconditionFailure("a block and a key of 16 bytes")
        }
    }
}

extension BusFault {
    /// No memory can be locked for a secret.
    static let noMemory = BusFault("org.freedesktop.DBus.Error.NoMemory", "no memory can be locked")
}
