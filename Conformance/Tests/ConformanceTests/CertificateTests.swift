// swift-format-ignore-file: NeverForceUnwrap

import Foundation
import Security
import Testing

@Suite("Certificates")
struct CertificateTests {
    // openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -set_serial 0x00f1e2d3c4b5a69788 \
    //   -subj "/C=SE/O=Example Works/OU=First/OU=Second/CN=Ada Lovelace" \
    //   -addext "subjectAltName=email:ada@example.org,DNS:example.org"
    private static let encoded = Data(
        base64Encoded: """
            MIICMDCCAdWgAwIBAgIJAPHi08S1ppeIMAoGCCqGSM49BAMCMF0xCzAJBgNVBAYTAlNFMRYwFAYDVQQKDA1FeGFtcGxlIFdvcmtz
            MQ4wDAYDVQQLDAVGaXJzdDEPMA0GA1UECwwGU2Vjb25kMRUwEwYDVQQDDAxBZGEgTG92ZWxhY2UwIBcNMjYxMTIyMTkxODEzWhgP
            MjA1OTA5MzAxOTE4MTNaMF0xCzAJBgNVBAYTAlNFMRYwFAYDVQQKDA1FeGFtcGxlIFdvcmtzMQ4wDAYDVQQLDAVGaXJzdDEPMA0G
            A1UECwwGU2Vjb25kMRUwEwYDVQQDDAxBZGEgTG92ZWxhY2UwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQsngMm9wl4jS/Hfeb8
            Sd+wvCNACv2jRNCWyWwGMkQ1wcx/ISGF668ASsp27knMg+EeJQELhR9IdtZN695vlgaXo3wwejAdBgNVHQ4EFgQUUTkg8YmKArkK
            yzPjlU7IeGTe23MwHwYDVR0jBBgwFoAUUTkg8YmKArkKyzPjlU7IeGTe23MwDwYDVR0TAQH/BAUwAwEB/zAnBgNVHREEIDAegQ9h
            ZGFAZXhhbXBsZS5vcmeCC2V4YW1wbGUub3JnMAoGCCqGSM49BAMCA0kAMEYCIQCC1J37V0YQuemeopxrL21DO5jKnl6AR1LN7D2R
            qEQ3zAIhAJNnfGhwnIJ2QPfRqPYwgl8nmS28F/HecEX0lC6slg6L
            """,
        options: .ignoreUnknownCharacters
    )!
    /// The signed part and the signature: the certificate without its outer header, the algorithm and the headers in between.
    private static let (signed, signature) = (encoded[4..<(4 + 4 + 0x1D5)], encoded.suffix(72))

    private static func read(_ data: Data) -> SecCertificate? {
        SecCertificateCreateWithData(nil, data as CFData)
    }

    @Test("a certificate's data are the bytes that it was read from")
    func bytes() throws {
        let certificate = try #require(Self.read(Self.encoded))
        #expect(SecCertificateCopyData(certificate) as Data == Self.encoded)
        #expect(CFGetTypeID(certificate) == SecCertificateGetTypeID())
        #expect(SecCertificateGetTypeID() != SecKeyGetTypeID())
        let again = try #require(Self.read(Self.encoded))
        #expect(CFEqual(certificate, again) && CFHash(certificate) == CFHash(again))
    }

    @Test("subject, serial number and validity are readable")
    func fields() throws {
        let certificate = try #require(Self.read(Self.encoded))
        #expect(SecCertificateCopySubjectSummary(certificate) as String? == "Ada Lovelace")
        var name: CFString?
        #expect(SecCertificateCopyCommonName(certificate, &name) == errSecSuccess)
        #expect(name as String? == "Ada Lovelace")
        var addresses: CFArray?
        #expect(SecCertificateCopyEmailAddresses(certificate, &addresses) == errSecSuccess)
        #expect(addresses as? [String] == ["ada@example.org"])
        let number = SecCertificateCopySerialNumberData(certificate, nil) as Data?
        #expect(number == Data([0x00, 0xF1, 0xE2, 0xD3, 0xC4, 0xB5, 0xA6, 0x97, 0x88]))
        let begin = SecCertificateCopyNotValidBeforeDate(certificate) as Date?
        let end = SecCertificateCopyNotValidAfterDate(certificate) as Date?
        #expect(begin == Date(timeIntervalSince1970: 1_795_375_093), "a UTCTime")
        #expect(end == Date(timeIntervalSince1970: 2_832_175_093), "a GeneralizedTime")
    }

    @Test("the subject's key verifies what it signed")
    func key() throws {
        let certificate = try #require(Self.read(Self.encoded))
        let key = try #require(SecCertificateCopyKey(certificate))
        let attributes = try #require(SecKeyCopyAttributes(key) as? [String: Any])
        #expect(attributes[kSecAttrKeyClass as String] as? String == kSecAttrKeyClassPublic as String)
        #expect(attributes[kSecAttrKeySizeInBits as String] as? Int == 256)
        func verifies(_ data: Data) -> Bool {
            SecKeyVerifySignature(
                key,
                .ecdsaSignatureMessageX962SHA256,
                data as CFData,
                Self.signature as CFData,
                nil
            )
        }
        #expect(verifies(Self.signed))
        #expect(!verifies(Self.signed.dropLast()))
    }

    @Test(
        "no certificates and identities are stored: none is found, changed or deleted",
        .keychain,
        arguments: [false, true]
    )
    func items(isIdentity: Bool) throws {
        let base: [CFString: Any] = [
            kSecClass: isIdentity ? kSecClassIdentity : kSecClassCertificate,
            kSecUseDataProtectionKeychain: true,
        ]
        // Names that no other keychain has either, on a system that stores certificates.
        let label = "conformance-" + UUID().uuidString
        let named = base.merging([kSecAttrLabel: label]) { $1 }
        let parts: [[CFString: Any]] = [
            [:], [kSecAttrIssuer: Data([1])], [kSecAttrSerialNumber: Data([1])], [kSecAttrSubject: Data([1])],
            [kSecAttrSubjectKeyID: Data([1])], [kSecAttrPublicKeyHash: Data([1])],
            [kSecAttrCertificateType: 1],
            [kSecAttrCertificateEncoding: 3], [kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked],
        ]
        for query in parts.map({ named.merging($0) { $1 } }) {
            for wanted: [CFString: Any] in [
                [:], [kSecReturnRef: true], [kSecReturnData: true, kSecReturnAttributes: true],
                [kSecReturnPersistentRef: true, kSecMatchLimit: kSecMatchLimitAll],
                [kSecReturnRef: true, kSecMatchSubjectContains: label],
                [kSecReturnRef: true, kSecMatchIssuers: [Data([1])]],
                [kSecReturnRef: true, kSecMatchTrustedOnly: true],
                [kSecReturnRef: true, kSecUseAuthenticationUI: kSecUseAuthenticationUISkip],
            ] {
                var result: CFTypeRef?
                let status = SecItemCopyMatching(query.merging(wanted) { $1 } as CFDictionary, &result)
                #expect(status == errSecItemNotFound && result == nil)
            }
            #expect(SecItemDelete(query as CFDictionary) == errSecItemNotFound)
            #expect(
                SecItemUpdate(query as CFDictionary, [kSecAttrLabel: "x"] as CFDictionary)
                    == errSecItemNotFound
            )
        }
        let foreign = named.merging([kSecAttrService: "mail"]) { $1 } as CFDictionary
        #expect(SecItemDelete(foreign) == errSecNoSuchAttr)
        #expect(
            SecItemCopyMatching(named.merging([kSecReturnRef: 7]) { $1 } as CFDictionary, nil) == errSecParam
        )
        #if os(Linux)
            let certificate = try #require(Self.read(Self.encoded))
            let item: [CFString: Any] = isIdentity ? base : [kSecValueRef: certificate]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecUnimplemented)
            #expect(SecItemAdd(base as CFDictionary, nil) == errSecUnimplemented)
            let sought = isIdentity ? base : [kSecValueRef: certificate]
            #expect(SecItemDelete(sought as CFDictionary) == errSecItemNotFound)
            #expect(SecItemCopyMatching(sought as CFDictionary, nil) == errSecItemNotFound)
        #endif
    }

    @Test("other data are not accepted as a certificate")
    func others() {
        for other in [
            Data(), Data([0x30, 0]), Data("-----BEGIN CERTIFICATE-----".utf8), Self.encoded.dropLast(),
        ] {
            #expect(Self.read(Data(other)) == nil)
        }
    }
}
