import Crypto
import CryptoExtras
import Glibc
import MessageBus
import SecretMemory

/// How the secrets of one session travel: as they are, or encrypted for the client (the specification's "Transfer of Secrets").
///
/// The encryption hides a secret from whoever only records the bus, and from no program of the same user.
final class TransferSession: Sendable {
    /// The only algorithm beside `plain`.
    static let agreement = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
    private static let blockByteCount = 16
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
            let own = KeyAgreement()
            let key = try own.key(with: theirs.plain)
            do throws(SecretMemoryError) {
                return (TransferSession(key: key), .octets(try BusOctets(copying: own.publicValue)))
            } catch {
                throw .noMemory
            }
        case ("plain", _), (agreement, _): throw .invalidArguments("the input does not fit the algorithm")
        default: throw .notSupported("neither plain nor \(agreement)")
        }
    }

    // MARK: As a client

    /// The encrypted session of a client, with the service's public value.
    init(_ own: borrowing KeyAgreement, with theirs: [UInt8]) throws(BusFault) {
        key = try own.key(with: theirs)
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
