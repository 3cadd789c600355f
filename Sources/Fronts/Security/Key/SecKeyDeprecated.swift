public import CoreFoundation
import Foundation
import KeychainModel

/// `SecKeyRawSign`, deprecated: signs a digest, or any bytes with ``SecPadding/PKCS1`` and RSA.
///
/// `sigLen` is the size of the buffer `sig`, and on return the signature's length.
///
/// - Returns: `errSecParam` for a padding the key does not support, and for too small a buffer.
@discardableResult
public func SecKeyRawSign(
    _ key: SecKey,
    _ padding: SecPadding,
    _ dataToSign: UnsafePointer<UInt8>,
    _ dataToSignLen: Int,
    _ sig: UnsafeMutablePointer<UInt8>,
    _ sigLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    output(sig, sigLen) { error in
        guard let algorithm = padding.signature(key), dataToSignLen >= 0 else { return nil }
        let data = NSData(bytes: dataToSign, length: dataToSignLen)
        return SecKeyCreateSignature(key, algorithm, data, error)
    }
}

/// `SecKeyRawVerify`, deprecated: verifies a signature of ``SecKeyRawSign(_:_:_:_:_:_:)``.
///
/// - Returns: `errSecVerifyFailed` for an invalid signature.
@discardableResult
public func SecKeyRawVerify(
    _ key: SecKey,
    _ padding: SecPadding,
    _ signedData: UnsafePointer<UInt8>,
    _ signedDataLen: Int,
    _ sig: UnsafePointer<UInt8>,
    _ sigLen: Int
) -> OSStatus {
    guard let algorithm = padding.signature(key), signedDataLen >= 0, sigLen >= 0 else { return errSecParam }
    var error: Unmanaged<CFError>?
    let data = NSData(bytes: signedData, length: signedDataLen)
    let signature = NSData(bytes: sig, length: sigLen)
    if SecKeyVerifySignature(key, algorithm, data, signature, &error) { return errSecSuccess }
    return status(error)
}

/// `SecKeyEncrypt`, deprecated: encrypts with RSA.
///
/// `cipherTextLen` is the size of the buffer `cipherText`, and on return the ciphertext's length.
///
/// - Returns: `errSecParam` for a padding the key does not support, for too long an input, and for too small
///   a buffer.
@discardableResult
public func SecKeyEncrypt(
    _ key: SecKey,
    _ padding: SecPadding,
    _ plainText: UnsafePointer<UInt8>,
    _ plainTextLen: Int,
    _ cipherText: UnsafeMutablePointer<UInt8>,
    _ cipherTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    output(cipherText, cipherTextLen) { error in
        guard let algorithm = padding.encryption, plainTextLen >= 0 else { return nil }
        let data = NSData(bytes: plainText, length: plainTextLen)
        return SecKeyCreateEncryptedData(key, algorithm, data, error)
    }
}

/// `SecKeyDecrypt`, deprecated: decrypts a ciphertext of ``SecKeyEncrypt(_:_:_:_:_:_:)``.
///
/// `plainTextLen` is the size of the buffer `plainText`, and on return the plaintext's length.
///
/// - Returns: as ``SecKeyEncrypt(_:_:_:_:_:_:)``.
@discardableResult
public func SecKeyDecrypt(
    _ key: SecKey,
    _ padding: SecPadding,
    _ cipherText: UnsafePointer<UInt8>,
    _ cipherTextLen: Int,
    _ plainText: UnsafeMutablePointer<UInt8>,
    _ plainTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    output(plainText, plainTextLen) { error in
        guard let algorithm = padding.encryption, cipherTextLen >= 0 else { return nil }
        let data = NSData(bytes: cipherText, length: cipherTextLen)
        return SecKeyCreateDecryptedData(key, algorithm, data, error)
    }
}

extension SecPadding {
    fileprivate func signature(_ key: SecKey) -> SecKeyAlgorithm? {
        switch (key.material.type, self) {
        case (.rsa, []): .rsaSignatureRaw
        case (.rsa, .PKCS1): .rsaSignatureDigestPKCS1v15Raw
        case (.rsa, .PKCS1SHA1): .rsaSignatureDigestPKCS1v15SHA1
        case (.rsa, .PKCS1SHA224): .rsaSignatureDigestPKCS1v15SHA224
        case (.rsa, .PKCS1SHA256): .rsaSignatureDigestPKCS1v15SHA256
        case (.rsa, .PKCS1SHA384): .rsaSignatureDigestPKCS1v15SHA384
        case (.rsa, .PKCS1SHA512): .rsaSignatureDigestPKCS1v15SHA512
        case (.ec, .sigRaw): .ecdsaSignatureDigestRFC4754
        case (.ec, []), (.ec, .PKCS1), (.ec, .PKCS1SHA1), (.ec, .PKCS1SHA224), (.ec, .PKCS1SHA256),
            (.ec, .PKCS1SHA384), (.ec, .PKCS1SHA512):
            .ecdsaSignatureDigestX962
        default: nil
        }
    }

    fileprivate var encryption: SecKeyAlgorithm? {
        switch self {
        case []: .rsaEncryptionRaw
        case .PKCS1: .rsaEncryptionPKCS1
        case .OAEP: .rsaEncryptionOAEPSHA1
        default: nil
        }
    }
}

/// Copies the result of `body` to the caller's buffer; nil without an error means `errSecParam`.
private func output(
    _ room: UnsafeMutablePointer<UInt8>,
    _ count: UnsafeMutablePointer<Int>,
    _ body: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> CFData?
) -> OSStatus {
    var error: Unmanaged<CFError>?
    guard let result = body(&error) else { return status(error) }
    guard result.length <= count.pointee else { return errSecParam }
    (result as Data).copyBytes(to: room, count: result.length)
    count.pointee = result.length
    return errSecSuccess
}

private func status(_ error: Unmanaged<CFError>?) -> OSStatus {
    error.map { OSStatus($0.takeRetainedValue().code) } ?? errSecParam
}
