public import Foundation
public import Security

/// The private half of a saved right's key: P-256, used by the daemon while the right is authorized.
///
/// All handlers are called once, on a private queue; the error is ``LAError/Code/notInteractive`` when the right is
/// not authorized, and an `NSError` with `errSecParam` for an algorithm that the key has not.
public final class LAPrivateKey: NSObject, Sendable {
    private let right: LAPersistedRight

    init(of right: LAPersistedRight) {
        self.right = right
        super.init()
    }

    /// The public half; using it needs nobody.
    public var publicKey: LAPublicKey { LAPublicKey(right.publicKey) }

    /// Whether the key signs by an algorithm.
    public func canSign(using algorithm: SecKeyAlgorithm) -> Bool {
        SecKeyIsAlgorithmSupported(right.privateKey, .sign, algorithm)
    }

    /// Signs a message or a digest, as the algorithm says.
    public func sign(
        _ data: Data,
        algorithm: SecKeyAlgorithm,
        completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        KeyWork.run(handler) { [right] error in
            SecKeyCreateSignature(right.privateKey, algorithm, data as CFData, error)
        }
    }

    /// Signs a message or a digest, as the algorithm says.
    ///
    /// - Throws: ``LAError`` with ``LAError/Code/notInteractive`` when the right is not authorized.
    public func sign(_ data: Data, algorithm: SecKeyAlgorithm) async throws -> Data {
        try await KeyWork.wait { self.sign(data, algorithm: algorithm, completion: $0) }
    }

    /// Whether the key decrypts by an algorithm.
    public func canDecrypt(using algorithm: SecKeyAlgorithm) -> Bool {
        SecKeyIsAlgorithmSupported(right.privateKey, .decrypt, algorithm)
    }

    /// Decrypts what was encrypted to the public half.
    public func decrypt(
        _ data: Data,
        algorithm: SecKeyAlgorithm,
        completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        KeyWork.run(handler) { [right] error in
            SecKeyCreateDecryptedData(right.privateKey, algorithm, data as CFData, error)
        }
    }

    /// Decrypts what was encrypted to the public half.
    ///
    /// - Throws: ``LAError`` with ``LAError/Code/notInteractive`` when the right is not authorized.
    public func decrypt(_ data: Data, algorithm: SecKeyAlgorithm) async throws -> Data {
        try await KeyWork.wait { self.decrypt(data, algorithm: algorithm, completion: $0) }
    }

    /// Whether the key agrees on secrets by an algorithm.
    public func canExchangeKeys(using algorithm: SecKeyAlgorithm) -> Bool {
        SecKeyIsAlgorithmSupported(right.privateKey, .keyExchange, algorithm)
    }

    /// Agrees on a secret with the owner of another key.
    ///
    /// - Parameters:
    ///   - publicKey: the other's, in X9.63.
    ///   - algorithm: how.
    ///   - parameters: `SecKeyKeyExchangeParameter` names and their values, where the algorithm derives a key.
    ///   - handler: called with the secret or the key.
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
        // Nobody else has the dictionary.
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

    /// Agrees on a secret with the owner of another key.
    ///
    /// - Parameters:
    ///   - publicKey: the other's, in X9.63.
    ///   - algorithm: how.
    ///   - parameters: `SecKeyKeyExchangeParameter` names and their values, where the algorithm derives a key.
    /// - Returns: the secret or the key.
    /// - Throws: ``LAError`` with ``LAError/Code/notInteractive`` when the right is not authorized.
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
