import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Testing

@testable import TouchstoneServer

extension ServerTests {
    @Suite("What check-config prints")
    struct ConfigurationCheckTests {
        @Test("every setting with its source, in a form that reads back to the same settings")
        func settings() async throws {
            try await TestServer.inDirectory { directory in
                let file = "\(directory)/server.conf"
                let secret = "\(directory)/secret"
                try Data((String(repeating: "1", count: 40) + "\n").utf8).write(to: URL(filePath: secret))
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret)
                let text = """
                    # A comment.
                    public-url = https://login.example.org
                    listen = [::1]:8443
                    trusted-proxies = 10.0.0.0/8, 2001:db8::/32
                    account-page = off
                    password-cost = 14,8,5
                    service-secret-file = \(secret)
                    """
                try Data(text.utf8).write(to: URL(filePath: file))
                let settings = try ServerConfiguration.read(
                    file: file,
                    environment: ["TOUCHSTONE_SERVER_FRESHNESS": "120", "STATE_DIRECTORY": directory]
                )
                let printed = try await settings.check()
                let lines = printed.split(separator: "\n").map(String.init)
                func line(_ key: String) -> String? { lines.first { $0.hasPrefix("\(key) ") } }
                for key in ServerConfiguration.keys {
                    let isThere = line(key) != nil || lines.contains { $0.hasPrefix("# \(key) ") }
                    #expect(isThere, "\(key): \(printed)")
                }
                #expect(
                    line("listen")?.hasSuffix("= [::1]:8443  # file \(file), line 3") == true,
                    "\(printed)"
                )
                #expect(
                    line("freshness")?.hasSuffix("= 120  # environment TOUCHSTONE_SERVER_FRESHNESS") == true
                )
                #expect(line("rp-id")?.hasSuffix("= login.example.org  # default") == true)
                #expect(lines.contains("# service service (1): set"))
                #expect(!printed.contains(String(repeating: "1", count: 40)))

                let copy = "\(directory)/copy.conf"
                try Data(printed.utf8).write(to: URL(filePath: copy))
                let again = try ServerConfiguration.read(file: copy, environment: [:])
                for key in ServerConfiguration.keys {
                    #expect(again.text(of: key) == settings.text(of: key), "\(key)")
                }
            }
        }

        @Test("a database's passwords are not printed")
        func passwords() throws {
            for (address, printed) in [
                ("postgresql://ada:pa:ss@w@db/x", "postgresql://ada:set@db/x"),
                ("postgresql://ada@db/x", "postgresql://ada@db/x"),
                ("postgresql://db/x", "postgresql://db/x"),
                (
                    "postgresql://db/x?user=ada&password=p@ss&sslmode=require&sslpassword=q",
                    "postgresql://db/x?user=ada&password=set&sslmode=require&sslpassword=set"
                ),
            ] {
                var settings = ServerConfiguration(dataDirectory: "/")
                settings.database = address
                #expect(settings.text(of: "database") == printed)
            }
        }

        @Test("the database is tried: one that is not migrated, or that is not there, is an error")
        func database() async throws {
            try await TestServer.inDirectory { directory in
                var settings = ServerConfiguration(dataDirectory: directory)
                #expect(try await settings.check().contains("# database: does not exist yet"))
                #expect(!FileManager.default.fileExists(atPath: settings.databaseAddress))
                try Data().write(to: URL(filePath: settings.databaseAddress))
                let fault = await #expect(throws: StartError.self) { try await settings.check() }
                #expect(
                    fault?.description.contains("touchstone-server migrate") == true,
                    "\(String(describing: fault))"
                )
                _ = try ServerProgram.migrate(settings)
                #expect(try await settings.check().contains("# database: can be used"))
                settings.database = "postgresql://localhost:1/none?connect_timeout=1"
                let away = await #expect(throws: StartError.self) { try await settings.check() }
                #expect(away?.kind == .store)
            }
        }

        @Test("a file for heads of the audit that cannot be made is an error; it is not made")
        func auditHeadFile() async throws {
            try await TestServer.inDirectory { directory in
                var settings = ServerConfiguration(dataDirectory: directory)
                settings.auditHeadFile = "\(directory)/heads"
                let printed = try await settings.check()
                #expect(printed.contains("= \(directory)/heads  # "))
                #expect(!FileManager.default.fileExists(atPath: "\(directory)/heads"))
                settings.auditHeadFile = "\(directory)/none/heads"
                let fault = await #expect(throws: ConfigurationFault.self) { try await settings.check() }
                #expect(fault?.description == "\(directory)/none/heads: No such file or directory")
            }
        }

        @Test("an admin port on all addresses is refused unless it has TLS")
        func adminPort() throws {
            func read(_ lines: [String: String]) throws -> ServerConfiguration {
                try ServerConfiguration.read(
                    file: nil,
                    environment: Dictionary(
                        uniqueKeysWithValues: lines.map { ("TOUCHSTONE_SERVER_\($0)", $1) }
                    )
                )
            }
            for address in ["0.0.0.0:8081", "[::]:8081", "*:8081", "[::ffff:0.0.0.0]:8081", "[0:0::0]:81"] {
                #expect(throws: ConfigurationFault.self, "\(address)") { try read(["ADMIN_LISTEN": address]) }
                let tls = ["TLS_CERTIFICATE": "/a", "TLS_KEY": "/b", "ADMIN_LISTEN": address]
                #expect(throws: ConfigurationFault.self, "\(address)") { try read(tls) }
                #expect(try read(tls.merging(["ADMIN_TLS": "on"]) { $1 }).adminTLS)
            }
            #expect(throws: ConfigurationFault.self) { try read(["ADMIN_TLS": "on"]) }
            _ = try read(["ADMIN_LISTEN": "10.0.0.1:8081"])
        }

        @Test("with admin-tls the admin port has the API's certificate")
        func adminTLS() async throws {
            try await TestServer.inDirectory { directory in
                let files = try TLSTestFiles(directory)
                let ports = try FreePorts()
                let settings = """
                    public-url = https://localhost:\(ports.api)
                    listen = 127.0.0.1:\(ports.api)
                    admin-listen = 127.0.0.1:\(ports.admin)
                    admin-tls = on
                    tls-certificate = \(directory)/tls.pem
                    tls-key = \(directory)/tls.key
                    """
                try Data(settings.utf8).write(to: URL(filePath: "\(directory)/server.conf"))
                let process = try BuiltProgram(directory, ["serve", "-c", "\(directory)/server.conf"], [:])
                let text = try await process.output(until: "ts_bt_")
                #expect(text.contains("curl -X POST https://127.0.0.1:\(ports.admin)/"), "\(text)")
                let client = try files.client()
                for (port, path) in [(ports.api, "/.well-known/webauthn"), (ports.admin, "/health/ready")] {
                    let answer = try await client.get(url: "https://localhost:\(port)\(path)").get()
                    #expect(answer.status == .ok)
                }
                try await client.shutdown()
                process.terminate()
                #expect(await process.status() == 0)
            }
        }
    }
}
