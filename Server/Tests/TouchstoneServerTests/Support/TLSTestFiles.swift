import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import SwiftASN1
import Testing
import WebAuthnTestKit
import X509

@testable import TouchstoneServer

/// A CA for localhost, and the files of one certificate.
struct TLSTestFiles {
    let directory: String
    let maker: SoftManufacturer

    init(_ directory: String, notBefore: TimeInterval = -3600, notAfter: TimeInterval = 3600) throws {
        self.directory = directory
        maker = try SoftManufacturer()
        let leaf = try maker.certificate(
            subject: DistinguishedName { CommonName("localhost") },
            extensions: Certificate.Extensions {
                SubjectAlternativeNames([.dnsName("localhost")])
            },
            notBefore: notBefore,
            notAfter: notAfter
        )
        try write("tls.pem", try leaf.serializeAsPEM().pemString)
        try write("tls.key", maker.leafKey.pemRepresentation)
    }

    func write(_ name: String, _ text: String) throws {
        try Data((text + "\n").utf8).write(to: URL(filePath: "\(directory)/\(name)"))
    }

    func apply(to configuration: inout ServerConfiguration) {
        configuration.publicURL = "https://localhost:8443"
        configuration.tlsCertificate = "\(directory)/tls.pem"
        configuration.tlsKey = "\(directory)/tls.key"
    }

    /// The status of a request by a client that trusts the CA.
    func status(
        port: Int,
        connecting limit: TimeAmount = .seconds(60),
        _ change: (inout TLSConfiguration) -> Void = { _ in }
    ) async throws -> Int {
        let client = try self.client(connecting: limit, change)
        let result: Result<Int, any Error>
        do { result = .success(try await status(port: port, by: client)) } catch { result = .failure(error) }
        try await client.shutdown()
        return try result.get()
    }

    /// A client that trusts the CA; the caller shuts it down.
    func client(
        connecting limit: TimeAmount = .seconds(60),
        _ change: (inout TLSConfiguration) -> Void = { _ in }
    ) throws -> HTTPClient {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates([
            try NIOSSLCertificate(bytes: SoftManufacturer.der(maker.root), format: .der)
        ])
        change(&tls)
        return HTTPClient(configuration: .init(tlsConfiguration: tls, timeout: .init(connect: limit)))
    }

    /// The status of a request by a client, on a connection that it has already if possible.
    func status(port: Int, by client: HTTPClient) async throws -> Int {
        let request = HTTPClientRequest(url: "https://localhost:\(port)/.well-known/webauthn")
        let answer = try await client.execute(request, timeout: .seconds(60))
        #expect(answer.headers.first(name: "Strict-Transport-Security") != nil)
        _ = try await answer.body.collect(upTo: 1 << 20)
        return Int(answer.status.code)
    }
}
