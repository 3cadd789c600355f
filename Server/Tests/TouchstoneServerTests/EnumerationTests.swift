import AccountStore
import Foundation
import NIOHTTP1
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    /// Bodies, statuses and headers are compared in ``PasswordLoginTests``; this suite compares the work done.
    @Suite("Timing reveals no account")
    struct EnumerationTests {
        /// The store's reads and writes during a call, and the number of password derivations.
        private func work(_ server: TestServer, _ call: () async throws -> Void) async throws -> [Int] {
            func counts() async throws -> [Int] {
                let statistics = server.program.store.statistics
                let metrics = try await server.call(.GET, "/metrics", isAdmin: true).text
                let derived = metrics.split(separator: "\n")
                    .first { $0.hasPrefix("touchstone_password_derivation_seconds_count") }?
                    .split(separator: " ").last.flatMap { Int($0) }
                return [statistics.reads, statistics.writes, derived ?? 0]
            }
            let before = try await counts()
            try await call()
            return zip(try await counts(), before).map { $0 - $1 }
        }

        @Test("starting or failing a login costs the same reads, writes and derivations for any name")
        func sameWork() async throws {
            try await TestServer.with { server in
                let known = try await TestUser.withPasskey(on: server)
                let bare = try await TestUser.make(on: server, "bare")
                let suspended = try await TestUser.withPasskey(on: server, "suspended")
                let id = try #require(
                    try await suspended.call(.GET, "/v1/credentials")["credentials"]?.array?.first?["id"]?
                        .string
                )
                let answer = try await server.admin(
                    .POST,
                    "/users/\(suspended.id)/credentials/\(id)/suspend"
                )
                #expect([200, 204].contains(answer.status), "\(answer.text)")
                let names = [known.name, bare.name, suspended.name, "nobody", "nobody-else"]
                var passwords: [[Int]] = []
                var options: [[Int]] = []
                for name in names {
                    passwords.append(
                        try await work(server) {
                            let body: JSONValue = ["username": .string(name), "password": "wrong wrong"]
                            let answer = try await server.call(.POST, "/v1/login/password", body)
                            #expect(answer.status == 401)
                        }
                    )
                    options.append(
                        try await work(server) {
                            let answer = try await known.options(["username": .string(name)])
                            #expect(answer.status == 200)
                            #expect(answer["publicKey"]?["allowCredentials"]?.array?.count == 1)
                        }
                    )
                }
                #expect(Set(passwords).count == 1 && passwords[0][2] == 1, "\(passwords)")
                #expect(Set(options).count == 1, "\(options)")
            }
        }
    }

    @Suite("Memory use")
    struct MemoryTests {
        private static func resident(_ process: BuiltProgram) throws -> Int {
            let status = try String(
                contentsOfFile: "/proc/\(process.processIdentifier)/status",
                encoding: .utf8
            )
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
            return try #require(line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) })
        }

        @Test("memory does not grow with the number of request bodies")
        func flat() async throws {
            try await TestServer.inDirectory { directory in
                let ports = try FreePorts()
                let process = try BuiltProgram(directory, ["serve"], ports.environment)
                try await ports.wait(process)
                let server = try ports.server(in: directory)
                let members = (0..<4000).map { "\"m\($0)\":1" }.joined(separator: ",")
                let bodies = [
                    "[" + String(repeating: "[", count: 60_000),
                    "{" + members + "}",
                    "{\"username\":\"" + String(repeating: "\\u0041", count: 10_000) + "\"}",
                    "{\"username\":\"" + String(repeating: "x", count: 64_000) + "\",\"password\":\"y\"}",
                    "{\"username\":1" + String(repeating: "0", count: 60_000) + "}",
                    String(repeating: " ", count: 65_000) + "{}x",
                ]
                func storm(_ count: Int) async throws {
                    for number in 0..<count {
                        let body = Array(bodies[number % bodies.count].utf8)
                        let answer = try await server.send(
                            .POST,
                            server.api + ["/v1/login/password", "/v1/login"][number % 2],
                            [:],
                            (body, "application/json")
                        )
                        #expect(answer.status == 400, "\(answer.text)")
                    }
                }
                try await storm(120)
                let before = try Self.resident(process)
                try await storm(CaseSize.isFull ? 6000 : 480)
                // 480 bodies of 60 KB are 29 MB; the bound allows for a heap's fluctuation.
                let after = try Self.resident(process)
                #expect(after - before < 16 * 1024, "from \(before) to \(after) KiB")
                process.terminate()
                #expect(await process.status() == 0)
            }
        }
    }
}

/// How many cases a long test runs.
enum CaseSize {
    /// Run all cases.
    static let isFull = ProcessInfo.processInfo.environment["TOUCHSTONE_FULL_SIZE"] == "1"
}
