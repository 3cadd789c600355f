// Written by Scripts/surface.swift; changes are lost.
// swift-format-ignore-file

import Security
import Testing

@Suite("The surface of SecKeyAlgorithm")
struct SecKeyAlgorithmSurfaceTests {
    @Test("has Apple's names, types and values, part 1")
    func names1() {
        let _: SecKeyAlgorithm = .rsaSignatureRaw
        let _: SecKeyAlgorithm = .rsaSignatureDigestPKCS1v15Raw
        let _: SecKeyAlgorithm = .rsaSignatureDigestPKCS1v15SHA1
        let _: SecKeyAlgorithm = .rsaSignatureDigestPKCS1v15SHA224
        let _: SecKeyAlgorithm = .rsaSignatureDigestPKCS1v15SHA256
        let _: SecKeyAlgorithm = .rsaSignatureDigestPKCS1v15SHA384
        let _: SecKeyAlgorithm = .rsaSignatureDigestPKCS1v15SHA512
        let _: SecKeyAlgorithm = .rsaSignatureMessagePKCS1v15SHA1
        let _: SecKeyAlgorithm = .rsaSignatureMessagePKCS1v15SHA224
        let _: SecKeyAlgorithm = .rsaSignatureMessagePKCS1v15SHA256
        let _: SecKeyAlgorithm = .rsaSignatureMessagePKCS1v15SHA384
        let _: SecKeyAlgorithm = .rsaSignatureMessagePKCS1v15SHA512
        let _: SecKeyAlgorithm = .rsaSignatureDigestPSSSHA1
        let _: SecKeyAlgorithm = .rsaSignatureDigestPSSSHA224
        let _: SecKeyAlgorithm = .rsaSignatureDigestPSSSHA256
        let _: SecKeyAlgorithm = .rsaSignatureDigestPSSSHA384
        let _: SecKeyAlgorithm = .rsaSignatureDigestPSSSHA512
        let _: SecKeyAlgorithm = .rsaSignatureMessagePSSSHA1
        let _: SecKeyAlgorithm = .rsaSignatureMessagePSSSHA224
        let _: SecKeyAlgorithm = .rsaSignatureMessagePSSSHA256
        let _: SecKeyAlgorithm = .rsaSignatureMessagePSSSHA384
        let _: SecKeyAlgorithm = .rsaSignatureMessagePSSSHA512
        let _: SecKeyAlgorithm = .ecdsaSignatureDigestX962
        let _: SecKeyAlgorithm = .ecdsaSignatureDigestX962SHA1
        let _: SecKeyAlgorithm = .ecdsaSignatureDigestX962SHA224
        let _: SecKeyAlgorithm = .ecdsaSignatureDigestX962SHA256
        let _: SecKeyAlgorithm = .ecdsaSignatureDigestX962SHA384
        let _: SecKeyAlgorithm = .ecdsaSignatureDigestX962SHA512
        let _: SecKeyAlgorithm = .ecdsaSignatureMessageX962SHA1
        let _: SecKeyAlgorithm = .ecdsaSignatureMessageX962SHA224
        let _: SecKeyAlgorithm = .ecdsaSignatureMessageX962SHA256
        let _: SecKeyAlgorithm = .ecdsaSignatureMessageX962SHA384
        let _: SecKeyAlgorithm = .ecdsaSignatureMessageX962SHA512
        let _: SecKeyAlgorithm = .ecdsaSignatureDigestRFC4754
        let _: SecKeyAlgorithm = .ecdsaSignatureDigestRFC4754SHA1
        let _: SecKeyAlgorithm = .ecdsaSignatureDigestRFC4754SHA224
        let _: SecKeyAlgorithm = .ecdsaSignatureDigestRFC4754SHA256
        let _: SecKeyAlgorithm = .ecdsaSignatureDigestRFC4754SHA384
        let _: SecKeyAlgorithm = .ecdsaSignatureDigestRFC4754SHA512
        let _: SecKeyAlgorithm = .ecdsaSignatureMessageRFC4754SHA1
        let _: SecKeyAlgorithm = .ecdsaSignatureMessageRFC4754SHA224
        let _: SecKeyAlgorithm = .ecdsaSignatureMessageRFC4754SHA256
        let _: SecKeyAlgorithm = .ecdsaSignatureMessageRFC4754SHA384
        let _: SecKeyAlgorithm = .ecdsaSignatureMessageRFC4754SHA512
        let _: SecKeyAlgorithm = .ecdsaSignatureRFC4754
        let _: SecKeyAlgorithm = .rsaEncryptionRaw
        let _: SecKeyAlgorithm = .rsaEncryptionPKCS1
        let _: SecKeyAlgorithm = .rsaEncryptionOAEPSHA1
        let _: SecKeyAlgorithm = .rsaEncryptionOAEPSHA224
        let _: SecKeyAlgorithm = .rsaEncryptionOAEPSHA256
        let _: SecKeyAlgorithm = .rsaEncryptionOAEPSHA384
        let _: SecKeyAlgorithm = .rsaEncryptionOAEPSHA512
        let _: SecKeyAlgorithm = .rsaEncryptionOAEPSHA1AESGCM
        let _: SecKeyAlgorithm = .rsaEncryptionOAEPSHA224AESGCM
        let _: SecKeyAlgorithm = .rsaEncryptionOAEPSHA256AESGCM
        let _: SecKeyAlgorithm = .rsaEncryptionOAEPSHA384AESGCM
        let _: SecKeyAlgorithm = .rsaEncryptionOAEPSHA512AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionStandardX963SHA1AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionStandardX963SHA224AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionStandardX963SHA256AESGCM
    }

    @Test("has Apple's names, types and values, part 2")
    func names2() {
        let _: SecKeyAlgorithm = .eciesEncryptionStandardX963SHA384AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionStandardX963SHA512AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionCofactorX963SHA1AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionCofactorX963SHA224AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionCofactorX963SHA256AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionCofactorX963SHA384AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionCofactorX963SHA512AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionStandardVariableIVX963SHA224AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionStandardVariableIVX963SHA256AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionStandardVariableIVX963SHA384AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionStandardVariableIVX963SHA512AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionCofactorVariableIVX963SHA224AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionCofactorVariableIVX963SHA256AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionCofactorVariableIVX963SHA384AESGCM
        let _: SecKeyAlgorithm = .eciesEncryptionCofactorVariableIVX963SHA512AESGCM
        let _: SecKeyAlgorithm = .ecdhKeyExchangeStandard
        let _: SecKeyAlgorithm = .ecdhKeyExchangeStandardX963SHA1
        let _: SecKeyAlgorithm = .ecdhKeyExchangeStandardX963SHA224
        let _: SecKeyAlgorithm = .ecdhKeyExchangeStandardX963SHA256
        let _: SecKeyAlgorithm = .ecdhKeyExchangeStandardX963SHA384
        let _: SecKeyAlgorithm = .ecdhKeyExchangeStandardX963SHA512
        let _: SecKeyAlgorithm = .ecdhKeyExchangeCofactor
        let _: SecKeyAlgorithm = .ecdhKeyExchangeCofactorX963SHA1
        let _: SecKeyAlgorithm = .ecdhKeyExchangeCofactorX963SHA224
        let _: SecKeyAlgorithm = .ecdhKeyExchangeCofactorX963SHA256
        let _: SecKeyAlgorithm = .ecdhKeyExchangeCofactorX963SHA384
        let _: SecKeyAlgorithm = .ecdhKeyExchangeCofactorX963SHA512
    }
}
