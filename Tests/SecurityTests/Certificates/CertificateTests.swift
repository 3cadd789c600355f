import Foundation
import Security
import Testing

/// Certificates made by OpenSSL, compared with OpenSSL's own output.
@Suite("Certificates by OpenSSL", .enabled(if: OpenSSL.isInstalled, "no openssl"))
struct CertificateTests {
    private let openssl: OpenSSL

    init() throws { openssl = try OpenSSL() }

    /// Creates a self-signed certificate.
    private func make(
        _ subject: String,
        key: [String] = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
        _ more: String...
    ) throws -> SecCertificate {
        let encoded = try encode(subject, key: key, more)
        return try #require(SecCertificateCreateWithData(nil, encoded as CFData))
    }

    private func encode(_ subject: String, key: [String], _ more: [String]) throws -> Data {
        let output = ["-nodes", "-keyout", "key.pem", "-outform", "DER", "-out", "certificate"]
        let made = try openssl.run(
            ["req", "-x509", "-utf8", "-newkey"] + key + output + ["-days", "9999", "-subj", subject] + more
        )
        try #require(made.isSuccess)
        return try openssl.read("certificate")
    }

    private func tell(_ option: String) throws -> String {
        let told = try openssl.run(["x509", "-inform", "DER", "-in", "certificate", "-noout", option])
        try #require(told.isSuccess)
        return String(decoding: told.output, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    private func summary(_ subject: String, _ more: String...) throws -> String? {
        let encoded = try encode(subject, key: ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], more)
        let certificate = try #require(SecCertificateCreateWithData(nil, encoded as CFData))
        return SecCertificateCopySubjectSummary(certificate) as String?
    }

    @Test("the summary is the highest-ranking name, with the last one first")
    func summaries() throws {
        #expect(try summary("/O=Works/OU=Unit/CN=Grace Höpper") == "Grace Höpper")
        #expect(try summary("/CN=one/CN=two/O=Works") == "two, one")
        #expect(try summary("/CN=Ada/description=first/description=second") == "Ada (second, first)")
        #expect(try summary("/C=SE/O=Works/OU=First/OU=Second") == "Second, First")
        #expect(try summary("/C=SE/O=Works") == "Works")
        #expect(try summary("/C=SE/L=Lund") == "Lund, SE")
    }

    @Test("without a common name the summary is an address from the certificate")
    func addresses() throws {
        let names = ["-addext", "subjectAltName=DNS:example.org,email:ada@example.org,email:b@example.org"]
        #expect(try summary("/O=Works", names[0], names[1]) == "ada@example.org")
        #expect(try summary("/O=Works", "-addext", "subjectAltName=DNS:example.org") == "example.org")
        #expect(try summary("/O=Works", "-addext", "subjectAltName=IP:127.0.0.1") == "Works")
        #expect(try summary("/", "-addext", "subjectAltName=DNS:example.org") == "example.org")
        #expect(try summary("/") == nil)

        let certificate = try make("/O=Works/emailAddress=c@example.org", names[0], names[1])
        var found: CFArray?
        #expect(SecCertificateCopyEmailAddresses(certificate, &found) == errSecSuccess)
        #expect(found as? [String] == ["ada@example.org", "b@example.org", "c@example.org"])
        var name: CFString? = "before"
        #expect(SecCertificateCopyCommonName(certificate, &name) == -26276)
        #expect(name as String? == "before")
    }

    @Test("a subject without e-mail addresses yields an empty array; the last common name is returned")
    func absent() throws {
        let certificate = try make("/CN=one/CN=two")
        var found: CFArray?
        #expect(SecCertificateCopyEmailAddresses(certificate, &found) == errSecSuccess)
        #expect(found?.count == 0)
        var name: CFString?
        #expect(SecCertificateCopyCommonName(certificate, &name) == errSecSuccess)
        #expect(name as String? == "two")
        #expect(certificate.description == "<cert: s: two, one i: two, one>")
    }

    @Test("the serial number and validity dates match OpenSSL's")
    func numbers() throws {
        let certificate = try make("/CN=one")
        let number = try #require(SecCertificateCopySerialNumberData(certificate, nil) as Data?)
        let hexadecimal = number.drop { $0 == 0 }.map { String(format: "%02X", $0) }.joined()
        #expect(try tell("-serial") == "serial=" + hexadecimal)
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "MMM d HH:mm:ss yyyy 'GMT'"
        let begin = try #require(SecCertificateCopyNotValidBeforeDate(certificate) as Date?)
        let end = try #require(SecCertificateCopyNotValidAfterDate(certificate) as Date?)
        // OpenSSL pads one-digit days with a space.
        func told(_ option: String) throws -> String {
            String(try tell(option).split(separator: "=")[1].replacing("  ", with: " "))
        }
        #expect(try told("-startdate") == format.string(from: begin))
        #expect(try told("-enddate") == format.string(from: end))
    }

    @Test(
        "the certificate's key is the subject's key",
        arguments: [
            ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
            ["ec", "-pkeyopt", "ec_paramgen_curve:P-521"], ["rsa:2048"],
        ]
    )
    func keys(kind: [String]) throws {
        let certificate = try make("/CN=one", key: kind)
        let key = try #require(SecCertificateCopyKey(certificate))
        let message = Data("a message".utf8)
        try openssl.write("message", message)
        let signed = try openssl.run(["dgst", "-sha256", "-sign", "key.pem", "-out", "signature", "message"])
        try #require(signed.isSuccess)
        let algorithm: SecKeyAlgorithm =
            kind[0] == "ec" ? .ecdsaSignatureMessageX962SHA256 : .rsaSignatureMessagePKCS1v15SHA256
        let signature = try openssl.read("signature")
        #expect(SecKeyVerifySignature(key, algorithm, message as CFData, signature as CFData, nil))
        #expect(
            !SecKeyVerifySignature(key, algorithm, Data("another".utf8) as CFData, signature as CFData, nil)
        )
    }

    @Test(
        "a certificate with an unsupported key type has no key but everything else",
        arguments: [
            ["ed25519"], ["ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
            ["ec", "-pkeyopt", "ec_paramgen_curve:brainpoolP256r1"],
            ["rsa-pss", "-pkeyopt", "rsa_keygen_bits:2048"],
        ]
    )
    func otherKeys(kind: [String]) throws {
        let certificate = try make("/CN=one", key: kind)
        #expect(SecCertificateCopyKey(certificate) == nil)
        #expect(SecCertificateCopySubjectSummary(certificate) as String? == "one")
    }

    @Test("truncated data, trailing data and non-DER data are rejected")
    func malformed() throws {
        let encoded = try encode("/CN=one", key: ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], [])
        func isRead(_ data: Data) -> Bool { SecCertificateCreateWithData(nil, data as CFData) != nil }
        try #require(isRead(encoded))
        for length in 0..<encoded.count where isRead(encoded.prefix(length)) {
            Issue.record("read after \(length) bytes")
        }
        #expect(!isRead(encoded + [0]))
        // The outer length in a long form that is not the shortest.
        #expect(!isRead(Data([0x30, 0x83, 0x00]) + encoded[2...]))
        // A flipped bit in a name, number or signature may be accepted, but never crashes the process.
        for index in encoded.indices {
            for bit in 0..<8 {
                var changed = encoded
                changed[index] ^= 1 << bit
                guard let read = SecCertificateCreateWithData(nil, changed as CFData) else { continue }
                #expect(SecCertificateCopyData(read) as Data == changed)
                _ = (SecCertificateCopySubjectSummary(read), SecCertificateCopyKey(read), read.description)
            }
        }
    }

    @Test("certificates are equal if their bytes are, and have a type ID")
    func equality() throws {
        let encoded = try encode("/CN=one", key: ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], [])
        let first = try #require(SecCertificateCreateWithData(kCFAllocatorDefault, encoded as CFData))
        let second = try #require(SecCertificateCreateWithData(nil, encoded as CFData))
        #expect(first == second && first.hash == second.hash)
        #expect(try first != make("/CN=one"))
        #expect(CFGetTypeID(first) == SecCertificateGetTypeID())
    }
}
