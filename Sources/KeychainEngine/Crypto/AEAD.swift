internal import CLinux
internal import Crypto
internal import Foundation
internal import KeychainModel
internal import SecretMemory

/// AES-256-GCM, as everything at rest is sealed: nonce (12 random octets), ciphertext and tag (16) in one piece.
enum AEAD {
    /// What sealing adds.
    static let overheadByteCount = 12 + tagByteCount
    static let tagByteCount = 16

    /// The octets were not sealed with this key and these associated data; nothing else is ever told.
    struct NotAuthentic: Error {}

    /// Seals `plaintext`.
    static func seal(
        _ plaintext: UnsafeRawBufferPointer,
        with key: SymmetricKey,
        authenticating context: [UInt8]
    ) -> Data {
        do {
            let box = try unsafe AES.GCM.seal(plaintext, using: key, authenticating: context)
            guard let combined = box.combined else {
                fatalError("touchstone: a GCM box with a foreign nonce")
            }
            return combined
        } catch {
            // Sealing has no input that can be refused: a 256-bit key and less than 2^36 octets.
            fatalError("touchstone: AES-GCM failed to seal")
        }
    }

    /// Seals a key's octets.
    static func seal(_ key: Key, with wrapping: SymmetricKey, authenticating context: [UInt8]) -> Data {
        unsafe key.withUnsafeBytes { unsafe seal($0, with: wrapping, authenticating: context) }
    }

    /// Opens `sealed` and lends the plaintext, which is wiped when `body` is done.
    static func open<R>(
        _ sealed: Data,
        with key: SymmetricKey,
        authenticating context: [UInt8],
        _ body: (UnsafeRawBufferPointer) throws -> R
    ) throws -> R {
        var plaintext: Data
        do {
            let box = try AES.GCM.SealedBox(combined: sealed)
            plaintext = try AES.GCM.open(box, using: key, authenticating: context)
        } catch {
            throw NotAuthentic()
        }
        defer { unsafe plaintext.withUnsafeMutableBytes { unsafe clinux_wipe($0.baseAddress, $0.count) } }
        return try unsafe plaintext.withUnsafeBytes { (octets: UnsafeRawBufferPointer) in
            try unsafe body(octets)
        }
    }

    /// Opens a sealed key.
    static func openKey(
        _ sealed: Data,
        with wrapping: SymmetricKey,
        authenticating context: [UInt8]
    ) throws(NotAuthentic) -> Key {
        do {
            return try unsafe open(sealed, with: wrapping, authenticating: context) { octets in
                guard octets.count == Key.byteCount else { throw NotAuthentic() }
                return unsafe Key(SecretBytes(copying: octets))
            }
        } catch {
            throw NotAuthentic()
        }
    }
}
