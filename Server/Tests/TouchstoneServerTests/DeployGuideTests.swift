import Foundation
import NIOHTTP1
import StoreTestKit
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("The guide for those who run the server")
    struct DeployGuideTests {
        private static let guide = Guide.deployment
        private static let host = "login.example.org"

        /// A text of the guide with other places, each of which has to be there.
        private static func replaced(_ marker: String, _ places: KeyValuePairs<String, String>) throws
            -> String
        {
            var text = try guide.block(after: "<!-- \(marker) -->")
            for (from, to) in places {
                #expect(text.contains(from), "\(marker): \(from)")
                text = text.replacing(from, with: to)
            }
            return text
        }

        /// A server with the settings of the guide for a proxy, an access log in JSON, and free ports.
        private static func serving(
            _ body: (_ directory: String, _ ports: FreePorts, _ process: BuiltProgram) async throws -> Void
        ) async throws {
            try await TestServer.inDirectory { directory in
                let ports = try FreePorts()
                let settings = try guide.block(after: "<!-- settings -->")
                try TestServer.write(
                    ["server.conf": settings + "log-format = json\naccess-log = on\n"],
                    to: directory
                )
                let process = try BuiltProgram(
                    directory,
                    ["serve", "--config", "\(directory)/server.conf"],
                    ports.environment
                )
                _ = try await process.output(until: "\"name\": \"me\"}'")
                try await body(directory, ports, process)
                process.terminate()
                #expect(await process.status() == 0)
            }
        }

        /// What curl gets from the proxy, once that listens: from 127.0.0.2, with a forged name of the client.
        private static func curl(_ url: String, port: Int, _ proxy: Process) async throws -> String {
            while true {
                let (status, text) = try await SystemProgram.run(
                    "curl",
                    [
                        "--silent", "--show-error", "--include", "--insecure", "--max-time", "60",
                        "--interface", "127.0.0.2", "--resolve", "\(host):\(port):127.0.0.1",
                        "--header", "X-Forwarded-For: 203.0.113.9", url,
                    ]
                )
                if status == 0 || !proxy.isRunning { return text }
                try await Task.sleep(for: .milliseconds(20))
            }
        }

        /// The client's addresses in the access log.
        private static func clients(_ log: String) -> [String] {
            log.matches(of: /"client":"([^"]*)"/).map { String($0.1) }
        }

        @Test("nginx with the guide's site passes requests on, and names the client")
        func nginx() async throws {
            try await Self.serving { directory, ports, process in
                _ = try TLSTestFiles(directory)
                let free = try FreePorts()
                let site = try Self.replaced(
                    "nginx",
                    [
                        "listen 443 ssl": "listen 127.0.0.1:\(free.api) ssl",
                        "/etc/ssl/login.example.org.pem": "\(directory)/tls.pem",
                        "/etc/ssl/private/login.example.org.key": "\(directory)/tls.key",
                        "http://127.0.0.1:8080": "http://127.0.0.1:\(ports.api)",
                    ]
                )
                try TestServer.write(
                    [
                        "nginx.conf": """
                        daemon off; pid \(directory)/pid; error_log \(directory)/error.log;
                        events {}
                        http {
                            access_log off;
                            client_body_temp_path \(directory)/body; proxy_temp_path \(directory)/proxy;
                            fastcgi_temp_path \(directory)/fastcgi; uwsgi_temp_path \(directory)/uwsgi;
                            scgi_temp_path \(directory)/scgi;
                            \(site)
                        }
                        """
                    ],
                    to: directory
                )
                let proxy = Process()
                proxy.executableURL = URL(filePath: "/usr/sbin/nginx")
                proxy.arguments = ["-c", "\(directory)/nginx.conf", "-e", "\(directory)/error.log"]
                try proxy.run()
                defer {
                    proxy.terminate()
                    proxy.waitUntilExit()
                }
                let url = "https://\(Self.host):\(free.api)/.well-known/webauthn"
                let text = try await Self.curl(url, port: free.api, proxy)
                #expect(text.hasPrefix("HTTP/1.1 200") && text.contains("https://\(Self.host)"), "\(text)")
                #expect(text.contains("trict-"), "\(text)")
                let log = try await process.output(until: #""message":"request""#)
                #expect(Self.clients(log) == ["127.0.0.2"], "\(log)")
            }
        }

        @Test("Caddy with the guide's file passes requests on, and names the client")
        func caddy() async throws {
            try await Self.serving { directory, ports, process in
                let free = try FreePorts()
                // Its own certificates are of an authority on the Internet.
                let site = try Self.replaced(
                    "caddy",
                    [
                        "login.example.org {": "http://login.example.org:\(free.api) {",
                        "127.0.0.1:8080": "127.0.0.1:\(ports.api)",
                    ]
                )
                try TestServer.write(["Caddyfile": "{\n\tadmin off\n}\n" + site], to: directory)
                let proxy = Process()
                proxy.executableURL = URL(filePath: "/usr/bin/caddy")
                proxy.arguments = ["run", "--config", "\(directory)/Caddyfile", "--adapter", "caddyfile"]
                proxy.environment = ["HOME": directory, "PATH": "/usr/bin:/bin"]
                proxy.standardError = FileHandle.nullDevice
                try proxy.run()
                defer {
                    proxy.terminate()
                    proxy.waitUntilExit()
                }
                let url = "http://\(Self.host):\(free.api)/.well-known/webauthn"
                let text = try await Self.curl(url, port: free.api, proxy)
                #expect(text.hasPrefix("HTTP/1.1 200") && text.contains("https://\(Self.host)"), "\(text)")
                let log = try await process.output(until: #""message":"request""#)
                #expect(Self.clients(log) == ["127.0.0.2"], "\(log)")
            }
        }

        /// Runs a script of the guide, by a shell that finds the built program.
        private static func shell(_ script: String, _ environment: [String: String]) async throws -> (
            Int32, String
        ) {
            let path = "\(BuiltProgram.products.path):/usr/bin:/bin"
            let result = try await SystemProgram.run(
                "sh",
                ["-c", script],
                environment: environment.merging(["PATH": path]) { $1 }
            )
            return (result.status, result.text)
        }

        /// The account's own data, with whom to sign in on a restored server.
        private static func signedUp(on server: TestServer) async throws -> TestUser {
            let user = try await TestUser.withPasskey(on: server)
            #expect(try await user.logInByPasskey().status == 200)
            return user
        }

        @Test("a backup of SQLite, made while the server runs, brings accounts and the CA back")
        func sqlite() async throws {
            try await TestServer.inDirectory { directory in
                let data = "\(directory)/data"
                let configuration = try TestServer.configuration(data)
                let settings = "\(directory)/settings"
                try TestServer.write(["touchstone-server.conf": "data-directory = \(data)\n"], to: settings)
                var user: TestUser?
                try await TestServer.with(configuration) { server in
                    user = try await Self.signedUp(on: server)
                    let script = try Self.replaced(
                        "backup-sqlite",
                        [
                            "/var/backups/touchstone-server": "\(directory)/backups",
                            "/var/lib/touchstone-server": data, "/etc/touchstone": settings,
                        ]
                    )
                    let (status, text) = try await Self.shell(
                        script,
                        ["TOUCHSTONE_SERVER_CONFIG": "\(settings)/touchstone-server.conf"]
                    )
                    #expect(status == 0 && text.contains("whole"), "\(text)")
                }
                let names = try FileManager.default.contentsOfDirectory(atPath: "\(directory)/backups")
                let backup = "\(directory)/backups/\(try #require(names.first))"
                for name in ["accounts.sqlite", "attestation-ca.pem"] {
                    let mode = try FileManager.default.attributesOfItem(atPath: "\(backup)/\(name)")[
                        .posixPermissions
                    ]
                    #expect(mode as? Int == 0o600, "\(name)")
                }
                #expect(
                    try String(
                        contentsOfFile: "\(backup)/configuration/touchstone-server.conf",
                        encoding: .utf8
                    )
                    .contains(data)
                )
                let authority = try Data(contentsOf: URL(filePath: "\(data)/attestation-ca.pem"))
                for name in ["accounts.sqlite", "attestation-ca.pem"] {
                    try Data("lost".utf8).write(to: URL(filePath: "\(data)/\(name)"))
                }
                // The account is not there on each machine.
                let script = try Self.replaced(
                    "restore-sqlite",
                    ["-o touchstone-server -g touchstone-server ": "", "/var/lib/touchstone-server": data]
                )
                let (status, text) = try await Self.shell(script, ["from": backup])
                #expect(status == 0, "\(text)")
                #expect(try Data(contentsOf: URL(filePath: "\(data)/attestation-ca.pem")) == authority)
                let known = try #require(user)
                try await TestServer.with(configuration, adminToken: known.server.adminToken) { server in
                    let me = try await server.call(.GET, "/v1/me", token: known.access)
                    let users = try await server.admin(.GET, "/users")
                    #expect(me.status == 200 && users.status == 200)
                }
            }
        }

        @Test("a dump of PostgreSQL brings accounts back in an empty database")
        func postgreSQL() async throws {
            let cluster = try await PostgreSQLCluster.shared.value
            try await TestServer.inDirectory { directory in
                let restored = try cluster.makeName()
                defer { _ = try? cluster.psql("DROP DATABASE \(restored) WITH (FORCE)", in: "postgres") }
                var user: TestUser?
                var settings: ServerConfiguration?
                try await TestServer.with(on: cluster) { server in
                    user = try await Self.signedUp(on: server)
                    settings = server.configuration
                    let (status, text) = try await Self.shell(
                        try Self.replaced("backup-postgresql", [:]),
                        ["into": directory, "database": server.configuration.databaseAddress]
                    )
                    #expect(status == 0, "\(text)")
                    var configuration = server.configuration
                    configuration.database = cluster.address(of: restored)
                    configuration.dataDirectory = directory
                    let (result, said) = try await Self.shell(
                        try Self.replaced("restore-postgresql", [:]),
                        ["from": directory, "database": cluster.address(of: restored)]
                    )
                    #expect(result == 0, "\(said)")
                    let known = try #require(user)
                    try await TestServer.with(configuration, adminToken: server.adminToken) { other in
                        let me = try await other.call(.GET, "/v1/me", token: known.access)
                        #expect(me.status == 200)
                    }
                    let checked = try await ServerProgram.verifyAudit(configuration, head: nil) { _ in }
                    #expect(checked.contains("whole"), "\(checked)")
                }
                #expect(settings != nil)
            }
        }

        @Test("promtool accepts the rules, whose metrics the server has")
        func rules() async throws {
            let rules = try Self.guide.block(after: "<!-- rules -->")
            try await TestServer.inDirectory { directory in
                func check(_ text: String) async throws -> (status: Int32, text: String) {
                    try TestServer.write(["rules.yml": text], to: directory)
                    return try await SystemProgram.run(
                        "promtool",
                        ["check", "rules", "\(directory)/rules.yml"]
                    )
                }
                let good = try await check(rules)
                #expect(good.status == 0 && good.text.contains("6 rules found"), "\(good.text)")
                let bad = try await check(
                    rules.replacing("[5m])) ", with: "[5m]) ").replacing("> 0\n", with: "> \n")
                )
                #expect(bad.status != 0, "\(bad.text)")
            }
            let named = Set(rules.matches(of: /touchstone_[a-z_]+/).map { String($0.0) })
            let known = Set(ServerMetrics.help.map(\.key))
            #expect(named.count > 4 && named.isSubset(of: known), "\(named.subtracting(known))")
        }

        @Test("the settings and probes of Kubernetes are the server's")
        func kubernetes() throws {
            let text = try Self.guide.block(after: "<!-- kubernetes -->")
            var environment: [String: String] = [:]
            for match in text.matches(of: /- name: (TOUCHSTONE_[A-Z_]+)\n +value: (.*)\n/) {
                environment[String(match.1)] = String(match.2).replacing("$(POD_IP)", with: "10.1.2.3")
            }
            #expect(environment.count == 3)
            environment["TOUCHSTONE_SERVER_PUBLIC_URL"] = "https://login.example.org"
            let read = try ServerConfiguration.read(file: nil, environment: environment)
            #expect(read.adminListen == ListenAddress(host: "10.1.2.3", port: 8081))
            #expect(read.logFormat == .json)
            let probes = text.matches(of: /path: (\/[a-z\/]+), port: (\d+)/)
            #expect(probes.count == 2)
            for probe in probes {
                #expect(AdminAPI.operations.contains { $0.path == String(probe.1) }, "\(probe.1)")
                #expect(String(probe.2) == "8081")
            }
            let period = try #require(text.firstMatch(of: /terminationGracePeriodSeconds: (\d+)/))
            #expect(try #require(Int(period.1)) > read.shutdownTimeout)
        }

        @Test("the commands of the guide exist, with their options")
        func commands() async throws {
            let page = try String(
                contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                    .appending(path: "../../../docs/DEPLOY.md").standardizedFileURL,
                encoding: .utf8
            )
            let words = page.matches(
                of: #/(?:sudo -u touchstone-server |^|=\S+ |`)touchstone-server ([a-z-]+)/#
            )
            let commands = Set(words.map { String($0.1) })
            #expect(commands == ["check-config", "import-users", "migrate", "verify-audit"], "\(commands)")
            for key in page.matches(of: #/`([a-z]+(-[a-z]+)+) = /#).map({ String($0.1) }) {
                #expect(ServerConfiguration.keys.contains(key), "\(key)")
            }
        }
    }
}
