public import CoreFoundation
import Foundation
import KeychainModel
import SecretMemory

/// `SecKeyIsAlgorithmSupported`: whether a key supports an algorithm for an operation; false for unknown
/// algorithms.
public func SecKeyIsAlgorithmSupported(
    _ key: SecKey,
    _ operation: SecKeyOperationType,
    _ algorithm: SecKeyAlgorithm
) -> Bool {
    KeyAlgorithm(algorithm)?.isSupported(by: key.material, for: operation) ?? false
}

/// `SecKeyCreateSignature`: signs with a private key; blocks while the user is asked as its access control
/// requires.
///
/// The data is a message or a digest, depending on the algorithm.
///
/// - Returns: nil with `errSecParam` for an algorithm the key does not support and for a digest of a wrong length,
///   and with the errors of a key in the keychain's hardware.
public func SecKeyCreateSignature(
    _ key: SecKey,
    _ algorithm: SecKeyAlgorithm,
    _ dataToSign: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    reporting(error) { () throws(KeychainError) in
        switch (try key.supported(algorithm, for: .sign), key.material) {
        case (.rsaSignature(let padding, let input), .rsaPrivate(let key)):
            let octets = try input.octets(dataToSign, algorithm)
            let block = try padding.encode(
                octets,
                hash: input.hash,
                sizeInBits: key.publicKey.sizeInBits
            )
            return NSData(data: Data(try key.raise(block)))
        case (.ecdsa(let form, let input), .ecPrivate(let key)):
            let digest = try input.octets(dataToSign, algorithm)
            guard key.canSign(digestByteCount: digest.count) else { throw .badDigestSize(algorithm) }
            return NSData(data: Data(form.encode(try key.signature(for: digest))))
        default: throw .notSupported(algorithm)
        }
    }
}

/// `SecKeyVerifySignature`: whether a signature is valid.
///
/// - Returns: false with `errSecVerifyFailed` for an invalid signature, and with `errSecParam` as
///   ``SecKeyCreateSignature(_:_:_:_:)``.
public func SecKeyVerifySignature(
    _ key: SecKey,
    _ algorithm: SecKeyAlgorithm,
    _ signedData: CFData,
    _ signature: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Bool {
    let isValid: Void? = reporting(error) { () throws(KeychainError) in
        let octets = [UInt8](signature as Data)
        switch (try key.supported(algorithm, for: .verify), key.material) {
        case (.rsaSignature(let padding, let input), .rsaPublic(let key)):
            let signed = try input.octets(signedData, algorithm)
            guard octets.count == key.blockByteCount, let block = try? key.raise(octets),
                padding.verify(block, signed, hash: input.hash, sizeInBits: key.sizeInBits)
            else { throw .key(.verifyFailed, "RSA signature verification failed, no match") }
        case (.ecdsa(let form, let input), .ecPublic(let key)):
            let digest = try input.octets(signedData, algorithm)
            guard let raw = form.decode(octets, coordinateByteCount: key.curve.coordinateByteCount),
                key.isValid(raw, for: digest)
            else { throw .key(.verifyFailed, "EC signature verification failed, no match") }
        default: throw .notSupported(algorithm)
        }
    }
    return isValid != nil
}

/// `SecKeyCreateEncryptedData`: encrypts with a public key.
///
/// - Returns: nil with `errSecParam` for an algorithm the key does not support, and for too long an input.
public func SecKeyCreateEncryptedData(
    _ key: SecKey,
    _ algorithm: SecKeyAlgorithm,
    _ plaintext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    reporting(error) { () throws(KeychainError) in
        switch (try key.supported(algorithm, for: .encrypt), key.material) {
        case (.rsaEncryption(let padding), .rsaPublic(let key)):
            guard plaintext.length <= key.blockByteCount else { throw .wrongInputLength }
            var octets = [UInt8](plaintext as Data)
            defer { wipe(&octets) }
            var block = try padding.encode(octets, blockByteCount: key.blockByteCount)
            defer { wipe(&block) }
            return NSData(data: Data(try key.raise(block)))
        case (.rsaHybrid(let hash), .rsaPublic(let key)): return try RSAHybrid.seal(plaintext, to: key, hash)
        case (.ecies(let hash, let derivesIV), .ecPublic(let key)):
            return try ECIES(hash: hash, derivesIV: derivesIV).seal(plaintext, to: key)
        default: throw .notSupported(algorithm)
        }
    }
}

/// `SecKeyCreateDecryptedData`: decrypts with a private key; blocks while the user is asked as its access
/// control requires.
///
/// - Returns: nil with `errSecParam` for an algorithm the key does not support and for data that was not
///   encrypted for it, and with the errors of a key in the keychain's hardware.
public func SecKeyCreateDecryptedData(
    _ key: SecKey,
    _ algorithm: SecKeyAlgorithm,
    _ ciphertext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    reporting(error) { () throws(KeychainError) in
        switch (try key.supported(algorithm, for: .decrypt), key.material) {
        case (.rsaEncryption(let padding), .rsaPrivate(let key)):
            guard ciphertext.length == key.publicKey.blockByteCount else { throw .wrongInputLength }
            var block = try key.raise([UInt8](ciphertext as Data))
            defer { wipe(&block) }
            return NSData(wiping: try padding.decode(block))
        case (.rsaHybrid(let hash), .rsaPrivate(let key)):
            return try RSAHybrid.open(ciphertext, with: key, hash)
        case (.ecies(let hash, let derivesIV), .ecPrivate(let key)):
            return try ECIES(hash: hash, derivesIV: derivesIV).open(ciphertext, with: key)
        default: throw .notSupported(algorithm)
        }
    }
}

/// `SecKeyCopyKeyExchangeResult`: agrees on a key; blocks while the user is asked as the private key's access
/// control requires.
///
/// The parameters are ``SecKeyKeyExchangeParameter/requestedSize`` if the algorithm derives a key, at most 16 KiB,
/// and ``SecKeyKeyExchangeParameter/sharedInfo``.
///
/// - Returns: nil with `errSecParam` for invalid parameters or an unsupported algorithm, and for keys on different
///   curves.
public func SecKeyCopyKeyExchangeResult(
    _ privateKey: SecKey,
    _ algorithm: SecKeyAlgorithm,
    _ publicKey: SecKey,
    _ parameters: CFDictionary,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    reporting(error) { () throws(KeychainError) in
        guard case .ecdh(let hash) = try privateKey.supported(algorithm, for: .keyExchange),
            case .ecPrivate(let mine) = privateKey.material, case .ecPublic(let theirs) = publicKey.material,
            mine.publicKey.curve == theirs.curve
        else { throw .notSupported(algorithm) }
        guard let hash else {
            return NSData(wiping: try mine.sharedSecret(with: theirs, forDecryption: false))
        }
        let parameters = try ExchangeParameters(parameters)
        let secret = try mine.sharedSecret(with: theirs, forDecryption: false)
        return NSData(
            wiping: try X963KeyDerivation.derive(
                parameters.requestedSize,
                from: secret,
                sharedInfo: parameters.sharedInfo,
                hash
            )
        )
    }
}

/// The parameters of a key derivation; dictionary keys may be strings or ``SecKeyKeyExchangeParameter``.
private struct ExchangeParameters {
    let requestedSize: Int
    private(set) var sharedInfo: [UInt8] = []

    /// Parses a dictionary; ignores unknown keys.
    init(_ dictionary: NSDictionary) throws(KeychainError) {
        var size: Int?
        for (key, value) in dictionary.pairs {
            switch (key as? SecKeyKeyExchangeParameter)?.rawValue as String? ?? key as? String {
            case "requestedSize"?: size = value as? Int
            case "sharedInfo"?:
                guard let info = value as? Data else { throw .wrongType("sharedInfo") }
                sharedInfo = [UInt8](info)
            default: break
            }
        }
        guard let size, 1...X963KeyDerivation.longestOutput ~= size else {
            throw .key(.param, "kSecKeyKeyExchangeParameterRequestedSize is missing")
        }
        requestedSize = size
    }
}

extension SecKey {
    fileprivate func supported(
        _ algorithm: SecKeyAlgorithm,
        for operation: SecKeyOperationType
    ) throws(KeychainError) -> KeyAlgorithm {
        guard let known = KeyAlgorithm(algorithm), known.isSupported(by: material, for: operation) else {
            throw .notSupported(algorithm)
        }
        return known
    }
}

extension KeyAlgorithm.Input {
    /// The digest to sign, or the bytes to pad.
    fileprivate func octets(_ data: NSData, _ algorithm: SecKeyAlgorithm) throws(KeychainError) -> [UInt8] {
        switch self {
        case .octets: return [UInt8](data as Data)
        case .digest(let hash):
            guard data.length == hash.byteCount else { throw .badDigestSize(algorithm) }
            return [UInt8](data as Data)
        case .message(let hash): return hash.digest(data as Data)
        }
    }
}

extension KeychainError {
    /// `errSecParam` for an algorithm that is unknown or not supported by the key.
    fileprivate static func notSupported(_ algorithm: SecKeyAlgorithm) -> KeychainError {
        .key(.param, "\(algorithm.rawValue): algorithm not supported by the key")
    }

    fileprivate static func badDigestSize(_ algorithm: SecKeyAlgorithm) -> KeychainError {
        .key(.param, "bad digest size for signing with algorithm \(algorithm.rawValue)")
    }
}
