public import Foundation

#if APPLE_SIDE
    internal import CryptoKit
#else
    internal import Crypto
#endif

extension DeviceKey<KeyPurpose.Sealing> {
    /// Seals data so that only this key can open it; shows no prompt.
    ///
    /// The public key would suffice, but what is sealed for a key that cannot be used any more is lost: the keychain is asked
    /// for the key first.
    ///
    /// - Parameters:
    ///   - data: The data to seal.
    ///   - context: Bytes that ``open(_:context:_:)`` must get too, such as the record's name; they are not part of
    ///     the record.
    /// - Returns: the record: 113 bytes more than the data.
    /// - Throws: ``TouchstoneError``: `invalidated` if the enrolled fingers have changed since the key was made, `deleted`,
    ///   `expired`, `usedUp`, `locked` before the keychain's first unlock.
    public func seal(_ data: Data, context: Data = Data()) async throws(TouchstoneError) -> Data {
        try checkEnd()
        try await link.checkKey(representation, at: try place)
        return try SealedRecord.seal(data, to: publicKey, context: context)
    }

    /// Opens a sealed record, after a prompt.
    ///
    /// - Parameters:
    ///   - record: The record that ``seal(_:context:)`` returned.
    ///   - context: The context that the record was sealed with.
    ///   - prompt: The text of the prompt.
    /// - Returns: the data.
    /// - Throws: ``TouchstoneError``: `damaged` for a record that was changed, was sealed for another key or has another
    ///   context, `deleted`, `invalidated`, `notYetValid`, `expired`, `usedUp` and the errors of a prompt.
    public func open(
        _ record: Data,
        context: Data = Data(),
        _ prompt: PromptText = .standard
    ) async throws(TouchstoneError) -> Data {
        try checkTime()
        try prompt.check()
        let record = try SealedRecord(record)
        let secret = try await link.openingSecret(for: record.fresh, with: self, prompt)
        return try secret.withBytes { secret throws(TouchstoneError) in
            try record.open(secret, context: context)
        }
    }
}

/// A record in the format of Apple's `eciesEncryptionStandardVariableIVX963SHA256AESGCM`: a fresh public key, ciphertext, tag.
///
/// The AES-128 key and the IV of 16 bytes are derived from the ECDH secret by the key derivation of ANSI X9.63 with SHA-256; its
/// shared info is the fresh public key. The plaintext begins with the SHA-256 of the context, for which Apple's calls have no
/// parameter.
struct SealedRecord {
    private static let pointByteCount = 65
    private static let tagByteCount = 16

    /// The fresh public key.
    let fresh: DevicePublicKey
    private let ciphertext: Data
    private let tag: Data

    /// Splits a record into its parts.
    init(_ record: Data) throws(TouchstoneError) {
        guard record.count >= Self.pointByteCount + SHA256.byteCount + Self.tagByteCount,
            let fresh = try? DevicePublicKey(x963Representation: Data(record.prefix(Self.pointByteCount)))
        else { throw .unopenable }
        self.fresh = fresh
        ciphertext = record.dropFirst(Self.pointByteCount).dropLast(Self.tagByteCount)
        tag = record.suffix(Self.tagByteCount)
    }

    /// Seals data to a public key.
    static func seal(
        _ data: Data,
        to key: DevicePublicKey,
        context: Data
    ) throws(TouchstoneError) -> Data {
        do {
            let fresh = P256.KeyAgreement.PrivateKey()
            let peer = try P256.KeyAgreement.PublicKey(x963Representation: key.x963Representation)
            let point = fresh.publicKey.x963Representation
            let secret = try fresh.sharedSecretFromKeyAgreement(with: peer)
            let (symmetric, nonce) = try secret.withUnsafeBytes { try derive($0, point) }
            let box = try AES.GCM.seal(
                Data(SHA256.hash(data: context)) + data,
                using: symmetric,
                nonce: nonce
            )
            return point + box.ciphertext + box.tag
        } catch {
            throw TouchstoneError(.serviceFailed, part: "Crypto", cause: "\(error)")
        }
    }

    /// Opens the record with the ECDH secret of the private key and ``fresh``.
    func open(_ secret: UnsafeRawBufferPointer, context: Data) throws(TouchstoneError) -> Data {
        do {
            let (symmetric, nonce) = try Self.derive(secret, fresh.x963Representation)
            let box = try AES.GCM.SealedBox(nonce: nonce, ciphertext: ciphertext, tag: tag)
            let plain = try AES.GCM.open(box, using: symmetric)
            if plain.prefix(SHA256.byteCount) == Data(SHA256.hash(data: context)) {
                return Data(plain.dropFirst(SHA256.byteCount))
            }
        } catch {
            throw .unopenable
        }
        throw .unopenable
    }

    private static func derive(
        _ secret: UnsafeRawBufferPointer,
        _ point: Data
    ) throws -> (SymmetricKey, AES.GCM.Nonce) {
        // One SHA-256 block gives the key and the IV: the input is the secret, the counter 1 and the shared
        // info.
        var hash = SHA256()
        hash.update(bufferPointer: secret)
        hash.update(data: Data([0, 0, 0, 1]))
        hash.update(data: point)
        return try hash.finalize().withUnsafeBytes { block in
            let (key, nonce) = (block.prefix(16), block.suffix(16))
            return (
                SymmetricKey(data: UnsafeRawBufferPointer(rebasing: key)),
                try AES.GCM.Nonce(data: UnsafeRawBufferPointer(rebasing: nonce))
            )
        }
    }
}

extension TouchstoneError {
    /// The error for a malformed record, or one of another key or context.
    fileprivate static var unopenable: TouchstoneError {
        TouchstoneError(.damaged, nextStep: .setUpAgain, details: ["a sealed record"])
    }
}
