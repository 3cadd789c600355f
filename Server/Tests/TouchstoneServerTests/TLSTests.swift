import AsyncHTTPClient
import Crypto
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import SwiftASN1
import Testing
import WebAuthnTestKit
import X509

@testable import TouchstoneServer

extension ServerTests {
    @Suite("TLS with certificate files")
    struct TLSTests {
        /// A CA for localhost, and the files of one certificate.
        private struct Files {
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
                var tls = TLSConfiguration.makeClientConfiguration()
                tls.trustRoots = .certificates([
                    try NIOSSLCertificate(bytes: SoftManufacturer.der(maker.root), format: .der)
                ])
                change(&tls)
                let client = HTTPClient(
                    configuration: .init(tlsConfiguration: tls, timeout: .init(connect: limit))
                )
                let result: Result<Int, any Error>
                do {
                    let request = HTTPClientRequest(url: "https://localhost:\(port)/.well-known/webauthn")
                    let answer = try await client.execute(request, timeout: .seconds(60))
                    #expect(answer.headers.first(name: "Strict-Transport-Security") != nil)
                    result = .success(Int(answer.status.code))
                } catch {
                    result = .failure(error)
                }
                try await client.shutdown()
                return try result.get()
            }
        }

        /// How long a refused client retries; that others connect shows that the time would have been enough.
        private let refused = TimeAmount.seconds(1)

        @Test("the certificate is served from TLS 1.2 on, and nothing without TLS")
        func served() async throws {
            try await TestServer.inDirectory { directory in
                let files = try Files(directory)
                var configuration = try TestServer.configuration(directory)
                files.apply(to: &configuration)
                #expect(try configuration.check().contains("(TLS)"))
                try await TestServer.with(configuration) { server in
                    let port = try #require(URL(string: server.api)?.port)
                    #expect(try await files.status(port: port) == 200)
                    await #expect(throws: (any Error).self) {
                        try await files.status(port: port, connecting: refused) {
                            $0.maximumTLSVersion = .tlsv11
                        }
                    }
                    await #expect(throws: (any Error).self) {
                        try await server.call(.GET, "/.well-known/webauthn")
                    }
                    // A client that trusts another CA.
                    let other = try SoftManufacturer()
                    await #expect(throws: (any Error).self) {
                        try await files.status(port: port, connecting: refused) {
                            $0.trustRoots = .certificates([
                                try! NIOSSLCertificate(bytes: SoftManufacturer.der(other.root), format: .der)
                            ])
                        }
                    }
                    #expect(try await files.status(port: port) == 200)
                }
            }
        }

        @Test(
            "mismatched or invalid files are refused by name before the server listens"
        )
        func refused() async throws {
            try await TestServer.inDirectory { directory in
                let files = try Files(directory)
                var configuration = try TestServer.configuration(directory)
                files.apply(to: &configuration)
                let key = try String(contentsOfFile: "\(directory)/tls.key", encoding: .utf8)
                let certificate = try String(contentsOfFile: "\(directory)/tls.pem", encoding: .utf8)
                let other = try SoftManufacturer().leafKey.pemRepresentation
                for (name, text, named) in [
                    ("tls.key", other, "tls.key"), ("tls.key", "", "tls.key"),
                    ("tls.key", certificate, "tls.key"),
                    ("tls.pem", "", "tls.pem"), ("tls.pem", key, "tls.pem"),
                    ("tls.pem", String(certificate.dropLast(60)), "tls.pem"),
                ] {
                    try files.write("tls.key", key)
                    try files.write("tls.pem", certificate)
                    try files.write(name, text)
                    let checked = #expect(throws: ConfigurationFault.self) { try configuration.check() }
                    #expect(checked?.place.hasSuffix(named) == true, "\(String(describing: checked))")
                    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                    let started = await #expect(throws: StartError.self) {
                        try await ServerProgram.start(configuration, logger: logger)
                    }
                    #expect(started?.kind == .configuration && started?.description.contains(named) == true)
                }
                try FileManager.default.removeItem(atPath: "\(directory)/tls.key")
                #expect(throws: ConfigurationFault.self) { try configuration.check() }
            }
        }

        @Test(
            "a certificate that is not valid now is served all the same, for clients that accept it, and reported"
        )
        func expired() async throws {
            for (from, to, word) in [(-7200.0, -3600.0, "expired"), (3600.0, 7200.0, "not valid before")] {
                try await TestServer.inDirectory { directory in
                    let files = try Files(directory, notBefore: from, notAfter: to)
                    var configuration = try TestServer.configuration(directory)
                    files.apply(to: &configuration)
                    let fault = #expect(throws: ConfigurationFault.self) { try configuration.check() }
                    #expect(fault?.reason.contains(word) == true)
                    try await TestServer.with(configuration) { server in
                        let port = try #require(URL(string: server.api)?.port)
                        await #expect(throws: (any Error).self) {
                            try await files.status(port: port, connecting: refused)
                        }
                        #expect(
                            try await files.status(port: port) { $0.certificateVerification = .none } == 200
                        )
                    }
                }
            }
        }

        @Test("a restarted server serves the renewed certificate")
        func renewed() async throws {
            try await TestServer.inDirectory { directory in
                var configuration = try TestServer.configuration(directory)
                var token = ""
                for _ in 0..<2 {
                    let files = try Files(directory)
                    files.apply(to: &configuration)
                    try await TestServer.with(configuration, adminToken: token.isEmpty ? nil : token) {
                        server in
                        token = server.adminToken
                        let port = try #require(URL(string: server.api)?.port)
                        #expect(try await files.status(port: port) == 200)
                    }
                }
            }
        }
    }
}
