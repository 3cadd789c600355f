import Crypto
import Foundation
import Security
import Testing

/// The algorithms that keys support.
enum Algorithms {
    /// An algorithm, the type of its keys, and the hash function in its name.
    struct Case: Sendable, CustomTestStringConvertible {
        let algorithm: SecKeyAlgorithm
        private let isRSA: Bool
        let hash: String?
        let isDigest: Bool

        var testDescription: String { algorithm.rawValue as String }
        var type: CFString { isRSA ? kSecAttrKeyTypeRSA : kSecAttrKeyTypeECSECPrimeRandom }

        init(_ algorithm: SecKeyAlgorithm) {
            self.algorithm = algorithm
            let name = algorithm.rawValue as String
            isRSA = name.contains(":RSA:")
            isDigest = name.contains(":digest-")
            hash = ["SHA1", "SHA256", "SHA384", "SHA512"].first { name.contains($0) }
        }

        /// The message, or its digest if the algorithm takes one.
        func input(_ message: Data) -> Data {
            guard isDigest else { return message }
            switch hash {
            case "SHA1": return Data(Insecure.SHA1.hash(data: message))
            case "SHA384": return Data(SHA384.hash(data: message))
            case "SHA512": return Data(SHA512.hash(data: message))
            default: return Data(SHA256.hash(data: message))
            }
        }
    }

    static let signatures = [
        SecKeyAlgorithm.rsaSignatureRaw, .rsaSignatureDigestPKCS1v15Raw, .rsaSignatureDigestPKCS1v15SHA1,
        .rsaSignatureDigestPKCS1v15SHA256, .rsaSignatureDigestPKCS1v15SHA384,
        .rsaSignatureDigestPKCS1v15SHA512, .rsaSignatureMessagePKCS1v15SHA1,
        .rsaSignatureMessagePKCS1v15SHA256, .rsaSignatureMessagePKCS1v15SHA384,
        .rsaSignatureMessagePKCS1v15SHA512, .rsaSignatureDigestPSSSHA1, .rsaSignatureDigestPSSSHA256,
        .rsaSignatureDigestPSSSHA384, .rsaSignatureDigestPSSSHA512, .rsaSignatureMessagePSSSHA1,
        .rsaSignatureMessagePSSSHA256, .rsaSignatureMessagePSSSHA384, .rsaSignatureMessagePSSSHA512,
        .ecdsaSignatureDigestX962, .ecdsaSignatureDigestX962SHA1, .ecdsaSignatureDigestX962SHA256,
        .ecdsaSignatureDigestX962SHA384, .ecdsaSignatureDigestX962SHA512, .ecdsaSignatureMessageX962SHA1,
        .ecdsaSignatureMessageX962SHA256, .ecdsaSignatureMessageX962SHA384,
        .ecdsaSignatureMessageX962SHA512, .ecdsaSignatureRFC4754, .ecdsaSignatureDigestRFC4754,
        .ecdsaSignatureDigestRFC4754SHA1, .ecdsaSignatureDigestRFC4754SHA256,
        .ecdsaSignatureDigestRFC4754SHA384, .ecdsaSignatureDigestRFC4754SHA512,
        .ecdsaSignatureMessageRFC4754SHA1, .ecdsaSignatureMessageRFC4754SHA256,
        .ecdsaSignatureMessageRFC4754SHA384, .ecdsaSignatureMessageRFC4754SHA512,
    ].map(Case.init)

    static let encryptions = [
        SecKeyAlgorithm.rsaEncryptionPKCS1, .rsaEncryptionOAEPSHA1, .rsaEncryptionOAEPSHA256,
        .rsaEncryptionOAEPSHA384, .rsaEncryptionOAEPSHA512, .rsaEncryptionOAEPSHA1AESGCM,
        .rsaEncryptionOAEPSHA256AESGCM, .rsaEncryptionOAEPSHA384AESGCM, .rsaEncryptionOAEPSHA512AESGCM,
        .eciesEncryptionStandardX963SHA1AESGCM, .eciesEncryptionStandardX963SHA256AESGCM,
        .eciesEncryptionStandardX963SHA384AESGCM, .eciesEncryptionStandardX963SHA512AESGCM,
        .eciesEncryptionCofactorX963SHA1AESGCM, .eciesEncryptionCofactorX963SHA256AESGCM,
        .eciesEncryptionCofactorX963SHA384AESGCM, .eciesEncryptionCofactorX963SHA512AESGCM,
        .eciesEncryptionStandardVariableIVX963SHA256AESGCM,
        .eciesEncryptionStandardVariableIVX963SHA384AESGCM,
        .eciesEncryptionStandardVariableIVX963SHA512AESGCM,
        .eciesEncryptionCofactorVariableIVX963SHA256AESGCM,
        .eciesEncryptionCofactorVariableIVX963SHA384AESGCM,
        .eciesEncryptionCofactorVariableIVX963SHA512AESGCM,
    ].map(Case.init)

    static let exchanges = [
        SecKeyAlgorithm.ecdhKeyExchangeStandard, .ecdhKeyExchangeStandardX963SHA1,
        .ecdhKeyExchangeStandardX963SHA256, .ecdhKeyExchangeStandardX963SHA384,
        .ecdhKeyExchangeStandardX963SHA512, .ecdhKeyExchangeCofactor, .ecdhKeyExchangeCofactorX963SHA1,
        .ecdhKeyExchangeCofactorX963SHA256, .ecdhKeyExchangeCofactorX963SHA384,
        .ecdhKeyExchangeCofactorX963SHA512,
    ].map(Case.init)
}

/// One RSA key for all tests, because generating one is slow.
enum RSAKey {
    private static let key = Result { try KeyMaker.make(kSecAttrKeyTypeRSA, 2048) }

    /// The key.
    static func shared() throws -> SecKey { try key.get() }
}
