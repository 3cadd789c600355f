internal import Foundation
internal import NIOSSL
internal import SwiftASN1
internal import X509

/// The certificate and the key of the API's port, read and compared before the server listens.
struct TLSFiles {
    /// The context of the ports' connections.
    let context: NIOSSLContext
    let leaf: Certificate
    private let path: String

    /// Reads the files of the settings; nil: there are none.
    ///
    /// - Throws: ``ConfigurationFault`` when a file cannot be read, is not PEM, or the key does not belong to the
    ///   certificate.
    init?(_ settings: ServerConfiguration) throws(ConfigurationFault) {
        guard let certificate = settings.tlsCertificate, let key = settings.tlsKey else { return nil }
        path = certificate
        guard let text = try? String(contentsOfFile: certificate, encoding: .utf8),
            let leaf = try? Certificate(pemEncoded: text),
            let chain = try? NIOSSLCertificate.fromPEMFile(certificate), !chain.isEmpty
        else {
            throw ConfigurationFault(
                place: certificate,
                reason: "cannot be read, or is no certificate in PEM"
            )
        }
        self.leaf = leaf
        guard let privateKey = try? NIOSSLPrivateKey(file: key, format: .pem) else {
            throw ConfigurationFault(place: key, reason: "cannot be read, or is no private key in PEM")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(privateKey)
        )
        configuration.minimumTLSVersion = .tlsv12
        // Of TLS 1.2 only suites with forward secrecy and authenticated encryption: no CBC.
        configuration.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ]
        configuration.applicationProtocols = ["http/1.1"]
        guard let context = try? NIOSSLContext(configuration: configuration) else {
            throw ConfigurationFault(place: key, reason: "is not the key of \(certificate)")
        }
        self.context = context
    }

    /// The certificate's serial number and end, for the log.
    var summary: String {
        let serial = leaf.serialNumber.description
        return
            "serial number \(serial), valid until \(ISO8601DateFormatter().string(from: leaf.notValidAfter))"
    }

    /// Why clients will reject the certificate at a time; nil: they will not.
    func complaint(at now: Date) -> ConfigurationFault? {
        let formatter = ISO8601DateFormatter()
        if now > leaf.notValidAfter {
            let day = formatter.string(from: leaf.notValidAfter)
            return ConfigurationFault(place: path, reason: "expired on \(day): clients refuse it")
        }
        if now < leaf.notValidBefore {
            let day = formatter.string(from: leaf.notValidBefore)
            return ConfigurationFault(place: path, reason: "is not valid before \(day): clients refuse it")
        }
        return nil
    }
}
