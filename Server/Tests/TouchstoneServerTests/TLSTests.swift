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
        /// How long a refused client retries; that others connect shows that the time would have been enough.
        private let refused = TimeAmount.seconds(1)

        @Test("the certificate is served from TLS 1.2 on, and nothing without TLS")
        func served() async throws {
            try await TestServer.inDirectory { directory in
                let files = try TLSTestFiles(directory)
                var configuration = try TestServer.configuration(directory)
                files.apply(to: &configuration)
                #expect(try await configuration.check().contains("\ntls-key "))
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
                let files = try TLSTestFiles(directory)
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
                    let checked = await #expect(throws: ConfigurationFault.self) {
                        try await configuration.check()
                    }
                    #expect(checked?.place.hasSuffix(named) == true, "\(String(describing: checked))")
                    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                    let started = await #expect(throws: StartError.self) {
                        try await ServerProgram.start(configuration, logger: logger)
                    }
                    #expect(started?.kind == .configuration && started?.description.contains(named) == true)
                }
                try FileManager.default.removeItem(atPath: "\(directory)/tls.key")
                await #expect(throws: ConfigurationFault.self) { try await configuration.check() }
            }
        }

        @Test(
            "a certificate that is not valid now is served all the same, for clients that accept it, and reported"
        )
        func expired() async throws {
            for (from, to, word) in [(-7200.0, -3600.0, "expired"), (3600.0, 7200.0, "not valid before")] {
                try await TestServer.inDirectory { directory in
                    let files = try TLSTestFiles(directory, notBefore: from, notAfter: to)
                    var configuration = try TestServer.configuration(directory)
                    files.apply(to: &configuration)
                    let fault = await #expect(throws: ConfigurationFault.self) {
                        try await configuration.check()
                    }
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
                    let files = try TLSTestFiles(directory)
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
