import AccountStore
import Foundation
import HTTPTypes
import Logging
import NIOHTTP1
import RelyingParty
import ServiceLifecycle
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Start, shutdown, and several servers on one store")
    struct LifecycleTests {
        @Test(
            "a restarted server keeps accounts, credentials, sessions, its CA and its administrators"
        )
        func restart() async throws {
            try await TestServer.inDirectory { directory in
                let configuration = try TestServer.configuration(directory)
                var former: TestUser?
                var pending: JSONValue?
                try await TestServer.with(configuration) { server in
                    let user = try await TestUser.withPasskey(on: server)
                    former = user
                    pending = try await user.passkeyBody()
                }
                let user = try #require(former)
                let authority = try Data(contentsOf: URL(filePath: "\(directory)/attestation-ca.pem"))
                try await TestServer.with(configuration, adminToken: user.server.adminToken) { server in
                    #expect(try await server.call(.GET, "/v1/me", token: user.access).status == 200)
                    #expect(try await server.admin(.GET, "/users").status == 200)
                    // A ceremony opened before the restart can be completed, once.
                    #expect(try await server.call(.POST, "/v1/login", pending).status == 200)
                    #expect(try await server.call(.POST, "/v1/login", pending).status == 410)
                    let renewed = try await server.form(
                        "/v1/token",
                        [("grant_type", "refresh_token"), ("refresh_token", user.refresh)],
                        key: user.key
                    )
                    #expect(renewed.status == 200)
                }
                #expect(try Data(contentsOf: URL(filePath: "\(directory)/attestation-ca.pem")) == authority)
                let mode = try FileManager.default.attributesOfItem(atPath: "\(directory)/attestation-ca.pem")
                #expect((mode[.posixPermissions] as? Int) == 0o600)
            }
        }

        @Test("two servers on one store share ceremonies, tokens, nonces, proofs and limits")
        func two() async throws {
            try await TestServer.inDirectory { directory in
                let configuration = try TestServer.configuration(directory)
                try await TestServer.with(configuration) { one in
                    try await TestServer.with(configuration, adminToken: one.adminToken) { two in
                        let user = try await TestUser.withPasskey(on: one)
                        let body = try await user.passkeyBody()
                        let signedIn = try await two.call(.POST, "/v1/login", body)
                        #expect(signedIn.status == 200, "\(signedIn.text)")
                        #expect(try await one.call(.POST, "/v1/login", body).status == 410)
                        let token = signedIn["access_token"]?.string
                        #expect(try await one.call(.GET, "/v1/me", token: token).status == 200)
                        let device = SoftProofKey()
                        let proof = try await device.freshProof(one, "/v1/login/password")
                        var bound = user
                        bound = TestUser(server: two, id: user.id, name: user.name)
                        #expect(try await bound.logIn(dpop: proof).status == 200)
                        #expect(try await user.logIn(dpop: proof).code == "invalid_dpop_proof")
                        // Failures on one server delay logins on the other.
                        var statuses: [Int] = []
                        for number in 0..<30 where statuses.last != 429 {
                            let either = number % 2 == 0 ? user : bound
                            statuses.append(try await either.logIn("wrong wrong").status)
                        }
                        #expect(statuses.last == 429)
                        #expect(try await two.call(.POST, "/v1/logout", token: token).status == 204)
                        #expect(try await one.call(.GET, "/v1/me", token: token).status == 401)
                    }
                }
            }
        }

        @Test("a server that is shut down completes the request in progress")
        func graceful() async throws {
            try await TestServer.inDirectory { directory in
                var configuration = try TestServer.configuration(directory)
                configuration.passwordCost = .init(ln: 15, r: 8, p: 8)
                var logger = Logger(label: "test")
                logger.logLevel = .critical
                let program = try await ServerProgram.start(configuration, logger: logger)
                let group = ServiceGroup(
                    configuration: .init(services: [.init(service: program)], logger: logger)
                )
                let settings = configuration
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    tasks.addTask { try await group.run() }
                    let ports = try #require(await program.ports.both())
                    let server = TestServer(
                        api: "http://127.0.0.1:\(ports.api)",
                        admin: "http://127.0.0.1:\(ports.admin)",
                        program: program,
                        configuration: settings,
                        adminToken: ""
                    )
                    async let answer = server.call(
                        .POST,
                        "/v1/login/password",
                        ["username": "nobody", "password": "wrong wrong"]
                    )
                    // Shut down once the request is in progress.
                    while program.passwordsInWork == 0 { try await Task.sleep(for: .milliseconds(5)) }
                    await group.triggerGracefulShutdown()
                    #expect(try await answer.status == 401)
                    try await tasks.waitForAll()
                }
            }
        }

        /// Addresses of this machine: IPv6 only where the kernel has it.
        private static let loopback =
            (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?.isEmpty == false
            ? ["127.0.0.1", "[::1]"] : ["127.0.0.1"]

        @Test(
            "without settings the first start prints a token for the first administrator, and a command that uses it",
            arguments: loopback
        )
        func program(_ host: String) async throws {
            try await TestServer.inDirectory { directory in
                let process = try BuiltProgram(
                    directory,
                    ["serve"],
                    [
                        "TOUCHSTONE_SERVER_LISTEN": "127.0.0.1:0",
                        "TOUCHSTONE_SERVER_ADMIN_LISTEN": "\(host):0",
                    ]
                )
                let text = try await process.output(until: "\"name\": \"me\"}'")
                #expect(text.contains("There is no administrator yet"))
                let start = try #require(text.range(of: "curl ")).lowerBound
                let end = try #require(text.range(of: "}'", options: .backwards)).upperBound
                let command = Process()
                let output = Pipe()
                command.executableURL = URL(filePath: "/bin/sh")
                command.arguments = ["-c", String(text[start..<end])]
                command.standardOutput = output
                try command.run()
                let answer = try await Task.detached {
                    String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
                }.value
                command.waitUntilExit()
                #expect(answer.contains("ts_ad_"), "\(text[start..<end]): \(answer)")
                #expect(
                    FileManager.default.fileExists(atPath: "\(directory)/touchstone-server/accounts.sqlite")
                )
                process.terminate()
                #expect(await process.status() == 0)
            }
        }

        @Test("check-config, migrate and version report their result, also by exit status")
        func commands() async throws {
            try await TestServer.inDirectory { directory in
                func run(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> (
                    Int32, String
                ) {
                    let process = try BuiltProgram(directory, arguments, environment)
                    let status = await process.status()
                    return (status, try await process.output(until: nil))
                }
                let (status, text) = try await run(["check-config"])
                #expect(status == 0 && text.contains("= localhost  # default"), "\(text)")
                for (variable, value) in [
                    ("PUBLIC_URL", "http://example.org"), ("LISTEN", "nowhere"), ("NONSENSE", "1"),
                    ("TLS_KEY", "/nowhere.pem"), ("ORIGINS", ""), ("RP_ID", "other.org"), ("PROFILE", "aal9"),
                    ("ENDORSEMENT", "roots"), ("SERVICE_SECRET_FILE", "/nowhere"), ("PASSWORD_COST", "1,1,1"),
                ] {
                    let (status, _) = try await run(
                        ["check-config"],
                        ["TOUCHSTONE_SERVER_\(variable)": value]
                    )
                    #expect(status == 78, "\(variable)")
                }
                #expect(try await run(["check-config", "--config", "/nowhere"]).0 == 78)
                for address in ["0.0.0.0:8081", "[::]:8081", "*:8081", "0:8081"] {
                    let (status, text) = try await run(
                        ["check-config"],
                        ["TOUCHSTONE_SERVER_ADMIN_LISTEN": address]
                    )
                    #expect(status == 78 && text.contains("admin-tls"), "\(address): \(text)")
                }
                #expect(try await run(["check-config", "--bogus"]).0 == 64)
                #expect(try await run(["version"]).1.contains(ServerVersion.text))
                #expect(try await run(["--help"]).1.contains("first administrator"))
                let first = try await run(["migrate"])
                #expect(first.0 == 0 && first.1.contains("migrated from version 0"), "\(first.1)")
                #expect(try await run(["migrate"]).1.contains("up to date"))
                let away = ["TOUCHSTONE_SERVER_DATABASE": "postgresql://localhost:1/none?connect_timeout=1"]
                #expect(try await run(["migrate"], away).0 == 69)
                #expect(try await run(["check-config"], away).0 == 69)
                #expect(try await run(["check-config"]).1.contains("# database: can be used"))
            }
        }

        /// The scheduling policies (sched(7)) of a process's threads whose names begin with `name`.
        private static func policies(of process: Int32, _ name: String) throws -> Set<Int> {
            let tasks = "/proc/\(process)/task"
            var policies: Set<Int> = []
            for thread in try FileManager.default.contentsOfDirectory(atPath: tasks) {
                // A thread may have ended meanwhile.
                guard let line = try? String(contentsOfFile: "\(tasks)/\(thread)/stat", encoding: .utf8)
                else {
                    continue
                }
                let parts = line.split(separator: ")", maxSplits: 1)
                guard parts[0].contains("(\(name)") else { continue }
                // Fields from the third on; the policy is the 41st (proc(5)).
                policies.insert(try #require(Int(parts[1].split(separator: " ")[38])))
            }
            return policies
        }

        @Test(
            "with SQLite the server's threads do not interrupt one another, unless a scheduling policy was chosen",
            arguments: [(nil, 3), ("chrt --idle --pid 0 $$", 5)] as [(String?, Int)]
        )
        func scheduling(_ chosen: String?, _ expected: Int) async throws {
            try await TestServer.inDirectory { directory in
                let process = try BuiltProgram(
                    directory,
                    ["serve"],
                    [
                        "PATH": "/usr/bin:/bin", "TOUCHSTONE_SERVER_LISTEN": "127.0.0.1:0",
                        "TOUCHSTONE_SERVER_ADMIN_LISTEN": "127.0.0.1:0",
                    ],
                    through: chosen
                )
                let text = try await process.output(until: "ts_bt_")
                #expect(try Self.policies(of: process.processIdentifier, "NIO") == [expected], "\(text)")
                process.terminate()
                #expect(await process.status() == 0)
            }
        }
    }
}
