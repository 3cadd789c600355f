public import Foundation
public import Security

/// The public half of a saved right's key; using it needs nobody.
///
/// All handlers are called once, on a private queue; the error is an `NSError` with `errSecParam` for an algorithm
/// that the key has not.
public final class LAPublicKey: NSObject, Sendable {
    private let key: SecKey

    init(_ key: SecKey) {
        self.key = key
        super.init()
    }

    /// Gives the key in X9.63: 4, then x and y of 32 bytes each.
    public func exportBytes(completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void) {
        KeyWork.run(handler) { [key] error in SecKeyCopyExternalRepresentation(key, error) }
    }

    /// The key in X9.63: 4, then x and y of 32 bytes each.
    public var bytes: Data {
        get async throws { try await KeyWork.wait { self.exportBytes(completion: $0) } }
    }

    /// Whether one can encrypt to the key by an algorithm.
    public func canEncrypt(using algorithm: SecKeyAlgorithm) -> Bool { supports(.encrypt, algorithm) }

    /// Encrypts to the owner of the private half.
    public func encrypt(
        _ data: Data,
        algorithm: SecKeyAlgorithm,
        completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        KeyWork.run(handler) { [key] error in
            SecKeyCreateEncryptedData(key, algorithm, data as CFData, error)
        }
    }

    /// Encrypts to the owner of the private half.
    ///
    /// - Throws: an `NSError` with `errSecParam` for an algorithm that the key has not.
    public func encrypt(_ data: Data, algorithm: SecKeyAlgorithm) async throws -> Data {
        try await KeyWork.wait { self.encrypt(data, algorithm: algorithm, completion: $0) }
    }

    /// Whether the key verifies by an algorithm.
    public func canVerify(using algorithm: SecKeyAlgorithm) -> Bool { supports(.verify, algorithm) }

    /// Verifies the signature of a message or a digest, as the algorithm says.
    ///
    /// - Parameters:
    ///   - signedData: the message or the digest.
    ///   - signature: what was made of it.
    ///   - algorithm: how.
    ///   - handler: called with nil for the key's own signature, otherwise with an error.
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

    /// Verifies the signature of a message or a digest, as the algorithm says.
    ///
    /// - Throws: an error for any signature but the key's own.
    public func verify(_ signedData: Data, signature: Data, algorithm: SecKeyAlgorithm) async throws {
        _ = try await KeyWork.wait { reply in
            self.verify(signedData, signature: signature, algorithm: algorithm) { reply(nil, $0) }
        }
    }

    private func supports(_ operation: SecKeyOperationType, _ algorithm: SecKeyAlgorithm) -> Bool {
        SecKeyIsAlgorithmSupported(key, operation, algorithm)
    }
}
