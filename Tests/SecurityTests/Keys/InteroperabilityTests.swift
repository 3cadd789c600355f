import Crypto
import Foundation
import Security
import Testing

@Suite(
    "Interoperability of software keys with openssl",
    .enabled(if: OpenSSL.isInstalled, "openssl is not installed")
)
struct InteroperabilityTests {
    private static let message = Data("a message for the other side".utf8)

    /// openssl's names of the curves.
    private static let curves: [(size: Int, name: String)] = [
        (256, "prime256v1"), (384, "secp384r1"), (521, "secp521r1"),
    ]

    /// Imports a key that openssl generated as `key.pem`, with its public key in `public.pem`.
    private static func ellipticKey(_ openssl: borrowing OpenSSL, _ name: String, _ size: Int) throws
        -> SecKey
    {
        try openssl.run([
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(name)", "-out", "key.pem",
        ])
        try openssl.run(["pkey", "-in", "key.pem", "-pubout", "-out", "public.pem"])
        let pem = String(decoding: try openssl.read("key.pem"), as: UTF8.self)
        let octets =
            switch size {
            case 256: try P256.Signing.PrivateKey(pemRepresentation: pem).x963Representation
            case 384: try P384.Signing.PrivateKey(pemRepresentation: pem).x963Representation
            default: try P521.Signing.PrivateKey(pemRepresentation: pem).x963Representation
            }
        return try KeyMaker.read(octets, kSecAttrKeyTypeEC)
    }

    private static func rsaKey(_ openssl: borrowing OpenSSL, bits: Int) throws -> SecKey {
        try openssl.run(["genrsa", "-traditional", "-out", "key.pem", "\(bits)"])
        try openssl.run(["pkey", "-in", "key.pem", "-pubout", "-out", "public.pem"])
        try openssl.run(["rsa", "-in", "key.pem", "-traditional", "-outform", "DER", "-out", "key.der"])
        return try KeyMaker.read(openssl.read("key.der"), kSecAttrKeyTypeRSA)
    }

    @Test(
        "ECDSA signatures verify in both directions, and key agreement yields the same secret",
        arguments: curves
    )
    func ellipticKeys(size: Int, name: String) throws {
        let openssl = try OpenSSL()
        let key = try Self.ellipticKey(openssl, name, size)
        let publicKey = try KeyMaker.publicKey(key)
        try openssl.write("message", Self.message)
        let digests: [(String, SecKeyAlgorithm)] = [
            ("sha1", .ecdsaSignatureMessageX962SHA1), ("sha256", .ecdsaSignatureMessageX962SHA256),
            ("sha384", .ecdsaSignatureMessageX962SHA384), ("sha512", .ecdsaSignatureMessageX962SHA512),
        ]
        for (digest, algorithm) in digests {
            let mine = try #require(SecKeyCreateSignature(key, algorithm, Self.message as CFData, nil))
            try openssl.write("mine", mine as Data)
            let verify = ["dgst", "-\(digest)", "-verify", "public.pem", "-signature", "mine", "message"]
            #expect(try openssl.run(verify).isSuccess, "\(digest)")
            try openssl.run(["dgst", "-\(digest)", "-sign", "key.pem", "-out", "theirs", "message"])
            let theirs = try openssl.read("theirs")
            #expect(
                SecKeyVerifySignature(publicKey, algorithm, Self.message as CFData, theirs as CFData, nil)
            )
        }
        // A second key pair, for agreement in both implementations.
        try FileManager.default.moveItem(atPath: openssl.path("public.pem"), toPath: openssl.path("peer.pem"))
        let other = try Self.ellipticKey(openssl, name, size)
        try openssl.run([
            "pkeyutl", "-derive", "-inkey", "key.pem", "-peerkey", "peer.pem", "-out", "secret",
        ])
        let secret = try openssl.read("secret")
        let none = [:] as CFDictionary
        #expect(
            SecKeyCopyKeyExchangeResult(other, .ecdhKeyExchangeCofactor, publicKey, none, nil) as Data?
                == secret
        )
        let parameters = ["requestedSize": 77, "sharedInfo": Data([1, 2, 3])] as CFDictionary
        let derived = SecKeyCopyKeyExchangeResult(
            other,
            .ecdhKeyExchangeStandardX963SHA384,
            publicKey,
            parameters,
            nil
        )
        try openssl.run([
            "kdf", "-keylen", "77", "-binary", "-out", "derived", "-kdfopt", "digest:SHA384", "-kdfopt",
            "hexsecret:\(secret.map { String(format: "%02x", $0) }.joined())", "-kdfopt", "hexinfo:010203",
            "X963KDF",
        ])
        #expect(derived as Data? == (try openssl.read("derived")))
    }

    // 2049 and 2056 bits: a block whose first byte PSS omits, and one that is not a whole number of limbs.
    @Test("RSA signatures verify in both directions", arguments: [2048, 2049, 2056])
    func rsaSignatures(bits: Int) throws {
        let openssl = try OpenSSL()
        let key = try Self.rsaKey(openssl, bits: bits)
        let publicKey = try KeyMaker.publicKey(key)
        try openssl.write("message", Self.message)
        let pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1"]
        let cases: [(String, [String], SecKeyAlgorithm)] = [
            ("sha1", [], .rsaSignatureMessagePKCS1v15SHA1),
            ("sha256", [], .rsaSignatureMessagePKCS1v15SHA256),
            ("sha384", [], .rsaSignatureMessagePKCS1v15SHA384),
            ("sha512", [], .rsaSignatureMessagePKCS1v15SHA512), ("sha1", pss, .rsaSignatureMessagePSSSHA1),
            ("sha256", pss, .rsaSignatureMessagePSSSHA256), ("sha384", pss, .rsaSignatureMessagePSSSHA384),
            ("sha512", pss, .rsaSignatureMessagePSSSHA512),
        ]
        for (digest, options, algorithm) in cases {
            let mine = try #require(SecKeyCreateSignature(key, algorithm, Self.message as CFData, nil))
            try openssl.write("mine", mine as Data)
            let verify =
                ["dgst", "-\(digest)"] + options + ["-verify", "public.pem", "-signature", "mine", "message"]
            #expect(try openssl.run(verify).isSuccess, "\(digest) \(options)")
            try openssl.run(
                ["dgst", "-\(digest)"] + options + ["-sign", "key.pem", "-out", "theirs", "message"]
            )
            let theirs = try openssl.read("theirs")
            #expect(
                SecKeyVerifySignature(publicKey, algorithm, Self.message as CFData, theirs as CFData, nil),
                "\(digest) \(options)"
            )
        }
        try openssl.run(["dgst", "-sha224", "-sign", "key.pem", "-out", "theirs", "message"])
        let digest = try openssl.run(["dgst", "-sha224", "-binary", "message"]).output
        #expect(
            SecKeyVerifySignature(
                publicKey,
                .rsaSignatureDigestPKCS1v15SHA224,
                digest as CFData,
                try openssl.read("theirs") as CFData,
                nil
            )
        )
    }

    @Test("RSA ciphertexts decrypt in both directions")
    func rsaEncryption() throws {
        let openssl = try OpenSSL()
        let key = try Self.rsaKey(openssl, bits: 2048)
        let publicKey = try KeyMaker.publicKey(key)
        try openssl.write("message", Self.message)
        func oaep(_ digest: String) -> [String] {
            ["rsa_padding_mode:oaep", "rsa_oaep_md:\(digest)", "rsa_mgf1_md:\(digest)"]
                .flatMap { ["-pkeyopt", $0] }
        }
        let cases: [([String], SecKeyAlgorithm)] = [
            (["-pkeyopt", "rsa_padding_mode:pkcs1"], .rsaEncryptionPKCS1),
            (oaep("sha1"), .rsaEncryptionOAEPSHA1), (oaep("sha256"), .rsaEncryptionOAEPSHA256),
            (oaep("sha384"), .rsaEncryptionOAEPSHA384), (oaep("sha512"), .rsaEncryptionOAEPSHA512),
        ]
        for (options, algorithm) in cases {
            let mine = try #require(
                SecKeyCreateEncryptedData(publicKey, algorithm, Self.message as CFData, nil)
            )
            try openssl.write("mine", mine as Data)
            let decrypt = ["pkeyutl", "-decrypt", "-inkey", "key.pem", "-in", "mine"] + options
            #expect(try openssl.run(decrypt).output == Self.message, "\(options)")
            let encrypt =
                ["pkeyutl", "-encrypt", "-pubin", "-inkey", "public.pem", "-in", "message"] + options
            let theirs = try openssl.run(encrypt).output
            #expect(
                SecKeyCreateDecryptedData(key, algorithm, theirs as CFData, nil) as Data? == Self.message,
                "\(options)"
            )
        }
    }

    @Test("RSA public keys can be imported in openssl's X.509 form")
    func subjectPublicKeyInfo() throws {
        let openssl = try OpenSSL()
        let key = try Self.rsaKey(openssl, bits: 2048)
        let octets = try openssl.run(["pkey", "-in", "key.pem", "-pubout", "-outform", "DER"]).output
        let publicKey = try KeyMaker.read(octets, kSecAttrKeyTypeRSA, kSecAttrKeyClassPublic)
        #expect(try KeyMaker.publicKey(key) == publicKey)
    }
}
