internal import Foundation
internal import NIOSSL
internal import SwiftASN1
internal import X509

/// The certificate and the key of the API's port, read and compared before anything listens.
struct TLSFiles {
    /// What the port speaks.
    let configuration: TLSConfiguration
    private let leaf: Certificate
    private let path: String

    /// Reads what the settings name; nil: nothing.
    ///
    /// - Throws: ``ConfigurationFault`` when a file cannot be read, is no PEM, or the key is not the certificate's.
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
        guard (try? NIOSSLContext(configuration: configuration)) != nil else {
            throw ConfigurationFault(place: key, reason: "is not the key of \(certificate)")
        }
        self.configuration = configuration
    }

    /// What clients will say of the certificate at a time; nil: nothing.
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
