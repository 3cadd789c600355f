import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Settings that are read again at SIGHUP")
    struct ReloadTests {
        private static let done = "reloaded the configuration"
        private static let refused = "not reloaded"

        /// A running program with a configuration file.
        private struct Running {
            let directory: String
            let ports: FreePorts
            let process: BuiltProgram

            init(_ directory: String, _ settings: String) throws {
                self.directory = directory
                ports = try FreePorts()
                try Self.write(settings, ports, to: directory)
                process = try BuiltProgram(directory, ["serve", "--config", "\(directory)/server.conf"], [:])
            }

            private static func write(_ settings: String, _ ports: FreePorts, to directory: String) throws {
                let text = """
                    listen = 127.0.0.1:\(ports.api)
                    admin-listen = 127.0.0.1:\(ports.admin)
                    password-cost = 10,8,1
                    \(settings)

                    """
                try Data(text.utf8).write(to: URL(filePath: "\(directory)/server.conf"))
            }

            /// Changes the settings in the file.
            func change(_ settings: String) throws { try Self.write(settings, ports, to: directory) }

            /// Sends SIGHUP and waits until the log has the text so many times.
            func hangUp(until text: String, times: Int = 1) async throws -> String {
                process.hangUp()
                return try await process.output(until: text, times: times)
            }

            /// Ends it, and expects that it was not ended by a signal.
            func end() async {
                process.terminate()
                #expect(await process.status() == 0)
            }

            /// Whether a service is known by a secret.
            func knows(_ secret: String) async throws -> Bool {
                let server = TestServer(
                    api: "http://127.0.0.1:\(ports.api)",
                    admin: "",
                    program: nil,
                    configuration: ServerConfiguration(dataDirectory: directory),
                    adminToken: ""
                )
                return try await server.form("/v1/introspect", ["token": "x"], token: secret).status == 200
            }
        }

        private func write(_ text: String, to path: String) throws {
            try Data(text.utf8).write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }

        @Test("a renewed certificate serves the next connection; connections that exist go on")
        func certificate() async throws {
            try await TestServer.inDirectory { directory in
                let first = try TLSTestFiles(directory)
                let running = try Running(
                    directory,
                    """
                    public-url = https://localhost:8443
                    tls-certificate = \(directory)/tls.pem
                    tls-key = \(directory)/tls.key
                    """
                )
                let port = running.ports.api
                _ = try await running.process.output(until: "serving")
                let client = try first.client()
                #expect(try await first.status(port: port, by: client) == 200)
                let second = try TLSTestFiles(directory)
                let text = try await running.hangUp(until: Self.done)
                #expect(text.contains("certificate with serial number"), "\(text)")
                #expect(try await second.status(port: port) == 200)
                await #expect(throws: (any Error).self) {
                    try await first.status(port: port, connecting: .seconds(1))
                }
                // The client of the first certificate still has its connection.
                #expect(try await first.status(port: port, by: client) == 200)
                try await client.shutdown()

                // A key of another certificate is refused, and the former pair stays.
                try second.write(
                    "tls.key",
                    try TLSTestFiles(NSTemporaryDirectory()).maker.leafKey.pemRepresentation
                )
                let log = try await running.hangUp(until: Self.refused)
                #expect(log.contains("tls.key: is not the key of"), "\(log)")
                #expect(try await second.status(port: port) == 200)
                await running.end()
            }
        }

        @Test(
            "services' secrets, lists and limits change without a restart, and the log says which, without secrets"
        )
        func secrets() async throws {
            try await TestServer.inDirectory { directory in
                let (file, folder) = ("\(directory)/secret", "\(directory)/services")
                let (one, two) = (String(repeating: "1", count: 40), String(repeating: "2", count: 40))
                let three = String(repeating: "3", count: 40)
                try write(one, to: file)
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                let settings = "service-secret-file = \(file)"
                let running = try Running(directory, settings)
                _ = try await running.process.output(until: "serving")
                #expect(try await running.knows(one))

                // Rotation without a gap: both, then the new one alone.
                try write("\(one)\n\(two)\n", to: file)
                var log = try await running.hangUp(until: Self.done)
                #expect(log.contains("service service has other secrets: 2, before 1"), "\(log)")
                #expect(try await running.knows(one))
                #expect(try await running.knows(two))
                try write("\(two)\n", to: file)
                log = try await running.hangUp(until: Self.done, times: 2)
                #expect(try await !running.knows(one))
                #expect(try await running.knows(two))

                // Another service, and a limit.
                try write(three, to: "\(folder)/billing")
                try running.change(
                    """
                    \(settings)
                    service-secret-directory = \(folder)
                    passwords-per-minute = 7
                    """
                )
                log = try await running.hangUp(until: Self.done, times: 3)
                #expect(log.contains("service billing is new"), "\(log)")
                #expect(log.contains("passwords-per-minute is 7, was 20"), "\(log)")
                #expect(try await running.knows(three))

                // What only a start changes is named, and the rest of the file takes effect.
                try running.change(
                    """
                    service-secret-file = \(file)
                    rp-name = Other
                    log-level = debug
                    request-timeout = 50
                    database = \(directory)/elsewhere.sqlite
                    """
                )
                log = try await running.hangUp(until: Self.done, times: 4)
                for key in ["log-level", "request-timeout", "database"] {
                    #expect(log.contains("\(key) changes only at the next start"), "\(key): \(log)")
                }
                #expect(log.contains("rp-name is Other, was Touchstone"), "\(log)")
                #expect(log.contains("service billing is gone"), "\(log)")
                #expect(try await !running.knows(three))
                for secret in [one, two, three] { #expect(!log.contains(secret)) }
                await running.end()
            }
        }

        @Test(
            "a configuration that became invalid is refused with its fault, and the former one stays in force"
        )
        func invalid() async throws {
            try await TestServer.inDirectory { directory in
                let file = "\(directory)/secret"
                let (good, next) = (String(repeating: "1", count: 40), String(repeating: "2", count: 40))
                try write(good, to: file)
                let settings = "service-secret-file = \(file)"
                let running = try Running(directory, settings)
                _ = try await running.process.output(until: "serving")
                var times = 0
                func expectRefused(_ fault: String) async throws {
                    times += 1
                    let log = try await running.hangUp(until: Self.refused, times: times)
                    #expect(log.contains(fault), "\(log)")
                    #expect(try await running.knows(good))
                }
                for (text, fault) in [
                    ("nonsense = 1", "server.conf, line 5: nonsense is no setting"),
                    ("freshness = 0", "freshness must be a whole number"),
                    ("public-url = http://example.org", "public-url must be https"),
                    ("endorsement-list = /nowhere", "/nowhere: cannot be read"),
                    ("attestation-roots = /nowhere", "/nowhere: is no directory"),
                    ("tls-certificate = /nowhere", "go together"),
                ] {
                    // The secret is new as well: nothing of a refused configuration is taken.
                    try write(next, to: file)
                    try running.change("\(settings)\n\(text)")
                    try await expectRefused(fault)
                }
                try running.change(settings)
                try write("short", to: file)
                try await expectRefused("at least 32 characters")
                try FileManager.default.removeItem(atPath: file)
                try await expectRefused("is not there")
                try FileManager.default.removeItem(atPath: "\(directory)/server.conf")
                try await expectRefused("server.conf: cannot be read")

                try running.change(settings)
                try write(next, to: file)
                _ = try await running.hangUp(until: Self.done)
                #expect(try await !running.knows(good))
                #expect(try await running.knows(next))
                await running.end()
            }
        }

        @Test("a SIGHUP while the server starts does not end it, and is not lost")
        func early() async throws {
            try await TestServer.inDirectory { directory in
                let running = try Running(directory, "")
                let status = "/proc/\(running.process.processIdentifier)/status"
                // Whether SIGHUP, the first bit, is caught.
                func isHeld() throws -> Bool {
                    let lines = try String(contentsOfFile: status, encoding: .utf8).split(separator: "\n")
                    let mask = lines.first { $0.hasPrefix("SigCgt:") }?.last?.hexDigitValue
                    return mask.map { $0 & 1 == 1 } == true
                }
                while try !isHeld() { await Task.yield() }
                let log = try await running.hangUp(until: Self.done)
                #expect(log.contains(Self.done), "\(log)")
                _ = try await running.process.output(until: "serving")
                await running.end()
            }
        }

        @Test(
            "a request in progress ends with the settings that it began with; new ones have the new settings"
        )
        func inProgress() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                var settings = server.configuration
                settings.accessTokenLifetime = 77
                settings.passwordWorkers = 1
                let changed = settings
                let before = try await user.logIn()
                #expect(before["expires_in"]?.integer == 300)
                server.program.reload { () throws(ConfigurationFault) in changed }
                #expect(try await user.logIn()["expires_in"]?.integer == 77)
                // Sessions and tokens from before are still valid.
                let token = before["access_token"]?.string
                #expect(try await server.call(.GET, "/v1/me", token: token).status == 200)
            }
        }
    }
}
