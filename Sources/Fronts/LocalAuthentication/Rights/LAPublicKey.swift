public import Foundation
public import Security

/// The public key of a saved right; usable without authorization.
///
/// Every handler is called once, on a private queue. The error is an `NSError` with `errSecParam` for an algorithm
/// the key does not support.
public final class LAPublicKey: NSObject, Sendable {
    private let key: SecKey

    init(_ key: SecKey) {
        self.key = key
        super.init()
    }

    /// Exports the key in X9.63 representation: the byte 4, then x and y of 32 bytes each.
    public func exportBytes(completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void) {
        KeyWork.run(handler) { [key] error in SecKeyCopyExternalRepresentation(key, error) }
    }

    /// The key in X9.63 representation: the byte 4, then x and y of 32 bytes each.
    public var bytes: Data {
        get async throws { try await KeyWork.wait { self.exportBytes(completion: $0) } }
    }

    /// Whether the key can encrypt with an algorithm.
    public func canEncrypt(using algorithm: SecKeyAlgorithm) -> Bool { supports(.encrypt, algorithm) }

    /// Encrypts data for the owner of the private key.
    public func encrypt(
        _ data: Data,
        algorithm: SecKeyAlgorithm,
        completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        KeyWork.run(handler) { [key] error in
            SecKeyCreateEncryptedData(key, algorithm, data as CFData, error)
        }
    }

    /// Encrypts data for the owner of the private key.
    ///
    /// - Throws: an `NSError` with `errSecParam` for an algorithm the key does not support.
    public func encrypt(_ data: Data, algorithm: SecKeyAlgorithm) async throws -> Data {
        try await KeyWork.wait { self.encrypt(data, algorithm: algorithm, completion: $0) }
    }

    /// Whether the key can verify signatures with an algorithm.
    public func canVerify(using algorithm: SecKeyAlgorithm) -> Bool { supports(.verify, algorithm) }

    /// Verifies the signature of a message or a digest, depending on the algorithm.
    ///
    /// - Parameters:
    ///   - signedData: the message or the digest.
    ///   - signature: the signature.
    ///   - algorithm: the signature algorithm.
    ///   - handler: called with nil for a valid signature, otherwise with an error.
    public func verify(
        _ signedData: Data,
        signature: Data,
        algorithm: SecKeyAlgorithm,
        completion handler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        KeyWork.run({ _, error in handler(error) }) { [key] error in
            let (data, signature) = (signedData as CFData, signature as CFData)
            return SecKeyVerifySignature(key, algorithm, data, signature, error) ? data : nil
        }
    }

    /// Verifies the signature of a message or a digest, depending on the algorithm.
    ///
    /// - Throws: an error if the signature is not valid.
    public func verify(_ signedData: Data, signature: Data, algorithm: SecKeyAlgorithm) async throws {
        _ = try await KeyWork.wait { reply in
            self.verify(signedData, signature: signature, algorithm: algorithm) { reply(nil, $0) }
        }
    }

    private func supports(_ operation: SecKeyOperationType, _ algorithm: SecKeyAlgorithm) -> Bool {
        SecKeyIsAlgorithmSupported(key, operation, algorithm)
    }
}
