public import Foundation
public import Security

/// The private key of a saved right: P-256, used by the daemon while the right is authorized.
///
/// Every handler is called once, on a private queue. The error is ``LAError/Code/notInteractive`` if the right is
/// not authorized, and an `NSError` with `errSecParam` for an algorithm the key does not support.
public final class LAPrivateKey: NSObject, Sendable {
    private let right: LAPersistedRight

    init(of right: LAPersistedRight) {
        self.right = right
        super.init()
    }

    /// The public key; usable without authorization.
    public var publicKey: LAPublicKey { LAPublicKey(right.publicKey) }

    /// Whether the key can sign with an algorithm.
    public func canSign(using algorithm: SecKeyAlgorithm) -> Bool {
        SecKeyIsAlgorithmSupported(right.privateKey, .sign, algorithm)
    }

    /// Signs a message or a digest, depending on the algorithm.
    public func sign(
        _ data: Data,
        algorithm: SecKeyAlgorithm,
        completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        KeyWork.run(handler) { [right] error in
            SecKeyCreateSignature(right.privateKey, algorithm, data as CFData, error)
        }
    }

    /// Signs a message or a digest, depending on the algorithm.
    ///
    /// - Throws: ``LAError`` with ``LAError/Code/notInteractive`` if the right is not authorized.
    public func sign(_ data: Data, algorithm: SecKeyAlgorithm) async throws -> Data {
        try await KeyWork.wait { self.sign(data, algorithm: algorithm, completion: $0) }
    }

    /// Whether the key can decrypt with an algorithm.
    public func canDecrypt(using algorithm: SecKeyAlgorithm) -> Bool {
        SecKeyIsAlgorithmSupported(right.privateKey, .decrypt, algorithm)
    }

    /// Decrypts data that was encrypted to the public key.
    public func decrypt(
        _ data: Data,
        algorithm: SecKeyAlgorithm,
        completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        KeyWork.run(handler) { [right] error in
            SecKeyCreateDecryptedData(right.privateKey, algorithm, data as CFData, error)
        }
    }

    /// Decrypts data that was encrypted to the public key.
    ///
    /// - Throws: ``LAError`` with ``LAError/Code/notInteractive`` if the right is not authorized.
    public func decrypt(_ data: Data, algorithm: SecKeyAlgorithm) async throws -> Data {
        try await KeyWork.wait { self.decrypt(data, algorithm: algorithm, completion: $0) }
    }

    /// Whether the key supports a key exchange algorithm.
    public func canExchangeKeys(using algorithm: SecKeyAlgorithm) -> Bool {
        SecKeyIsAlgorithmSupported(right.privateKey, .keyExchange, algorithm)
    }

    /// Computes a secret shared with the owner of another key.
    ///
    /// - Parameters:
    ///   - publicKey: the other party's public key, in X9.63 representation.
    ///   - algorithm: the key exchange algorithm.
    ///   - parameters: values for `SecKeyKeyExchangeParameter` keys, if the algorithm derives a key.
    ///   - handler: called with the shared secret or the derived key.
    public func exchangeKeys(
        publicKey: Data,
        algorithm: SecKeyAlgorithm,
        parameters: [AnyHashable: Any],
        completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        var named: [String: Any] = [:]
        for (key, value) in parameters {
            let name = (key.base as? SecKeyKeyExchangeParameter)?.rawValue as String? ?? key.base as? String
            if let name { named[name] = value }
        }
        // The dictionary is not shared with other code.
        nonisolated(unsafe) let dictionary = named as CFDictionary
        KeyWork.run(handler) { [right] error in
            let attributes: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClass: kSecAttrKeyClassPublic,
            ]
            let theirs = SecKeyCreateWithData(publicKey as CFData, attributes as CFDictionary, error)
            return theirs.flatMap {
                SecKeyCopyKeyExchangeResult(right.privateKey, algorithm, $0, dictionary, error)
            }
        }
    }

    /// Computes a secret shared with the owner of another key.
    ///
    /// - Parameters:
    ///   - publicKey: the other party's public key, in X9.63 representation.
    ///   - algorithm: the key exchange algorithm.
    ///   - parameters: values for `SecKeyKeyExchangeParameter` keys, if the algorithm derives a key.
    /// - Returns: the shared secret or the derived key.
    /// - Throws: ``LAError`` with ``LAError/Code/notInteractive`` if the right is not authorized.
    public func exchangeKeys(
        publicKey: Data,
        algorithm: SecKeyAlgorithm,
        parameters: [AnyHashable: Any]
    ) async throws -> Data {
        try await KeyWork.wait {
            self.exchangeKeys(
                publicKey: publicKey,
                algorithm: algorithm,
                parameters: parameters,
                completion: $0
            )
        }
    }
}
