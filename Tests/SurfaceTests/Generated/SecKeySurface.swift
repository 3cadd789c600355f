// Written by Scripts/surface.swift; changes are lost.
// swift-format-ignore-file

import Security
import Testing

@Suite("The surface of SecKey")
struct SecKeySurfaceTests {
    @Test("has Apple's names, types and values")
    func names() {
        let _: () -> CFTypeID = SecKeyGetTypeID
        let _: (CFDictionary, UnsafeMutablePointer<Unmanaged<CFError>?>?) -> SecKey? = SecKeyCreateRandomKey
        let _: (CFData, CFDictionary, UnsafeMutablePointer<Unmanaged<CFError>?>?) -> SecKey? = SecKeyCreateWithData
        let _: (SecKey, UnsafeMutablePointer<Unmanaged<CFError>?>?) -> CFData? = SecKeyCopyExternalRepresentation
        let _: (SecKey) -> CFDictionary? = SecKeyCopyAttributes
        let _: (SecKey) -> SecKey? = SecKeyCopyPublicKey
        let _: (SecKey) -> Int = SecKeyGetBlockSize
        let _: (SecKey, SecKeyAlgorithm, CFData, UnsafeMutablePointer<Unmanaged<CFError>?>?) -> CFData? = SecKeyCreateSignature
        let _: (SecKey, SecKeyAlgorithm, CFData, CFData, UnsafeMutablePointer<Unmanaged<CFError>?>?) -> Bool = SecKeyVerifySignature
        let _: (SecKey, SecKeyAlgorithm, CFData, UnsafeMutablePointer<Unmanaged<CFError>?>?) -> CFData? = SecKeyCreateEncryptedData
        let _: (SecKey, SecKeyAlgorithm, CFData, UnsafeMutablePointer<Unmanaged<CFError>?>?) -> CFData? = SecKeyCreateDecryptedData
        let _: (SecKey, SecKeyAlgorithm, SecKey, CFDictionary, UnsafeMutablePointer<Unmanaged<CFError>?>?) -> CFData? = SecKeyCopyKeyExchangeResult
        let _: (SecKey, SecKeyOperationType, SecKeyAlgorithm) -> Bool = SecKeyIsAlgorithmSupported
        let _: (CFDictionary, UnsafeMutablePointer<SecKey?>?, UnsafeMutablePointer<SecKey?>?) -> OSStatus = SecKeyGeneratePair
        let _: (SecKey, SecPadding, UnsafePointer<UInt8>, Int, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<Int>) -> OSStatus = SecKeyRawSign
        let _: (SecKey, SecPadding, UnsafePointer<UInt8>, Int, UnsafePointer<UInt8>, Int) -> OSStatus = SecKeyRawVerify
        let _: (SecKey, SecPadding, UnsafePointer<UInt8>, Int, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<Int>) -> OSStatus = SecKeyEncrypt
        let _: (SecKey, SecPadding, UnsafePointer<UInt8>, Int, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<Int>) -> OSStatus = SecKeyDecrypt
        let _: (Any) -> SecKey = { $0 as! SecKey }
        isRawRepresentable(SecKeyOperationType.self, by: Int.self)
        #expect(SecKeyOperationType.sign.rawValue == 0)
        #expect(SecKeyOperationType.verify.rawValue == 1)
        #expect(SecKeyOperationType.encrypt.rawValue == 2)
        #expect(SecKeyOperationType.decrypt.rawValue == 3)
        #expect(SecKeyOperationType.keyExchange.rawValue == 4)
        isRawRepresentable(SecKeyKeyExchangeParameter.self, by: CFString.self)
        let _: SecKeyKeyExchangeParameter = .requestedSize
        let _: SecKeyKeyExchangeParameter = .sharedInfo
        isOptionSet(SecPadding.self, of: UInt32.self)
        let _: SecPadding = .PKCS1
        let _: SecPadding = .OAEP
        let _: SecPadding = .sigRaw
        let _: SecPadding = .PKCS1SHA1
        let _: SecPadding = .PKCS1SHA224
        let _: SecPadding = .PKCS1SHA256
        let _: SecPadding = .PKCS1SHA384
        let _: SecPadding = .PKCS1SHA512
        isRawRepresentable(SecKeyAlgorithm.self, by: CFString.self)
    }
}
