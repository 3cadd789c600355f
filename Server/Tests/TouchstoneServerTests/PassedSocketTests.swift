import Foundation
import Testing

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Sockets of the service manager")
    struct PassedSocketTests {
        /// Starts the server by the script that binds sockets and passes them.
        private static func serving(
            _ words: [String],
            _ body: (FreePorts, BuiltProgram) async throws -> Void
        ) async throws {
            let script = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../passed_sockets.py").standardizedFileURL.path
            let launcher = ["/usr/bin/python3", "-B", script] + words + ["--"]
            try await TestServer.inDirectory { directory in
                let ports = try FreePorts()
                try await body(
                    ports,
                    try BuiltProgram(directory, ["serve"], ports.environment, by: launcher)
                )
            }
        }

        /// The numbers after a word at the beginning of the last such line.
        private static func numbers(after word: String, in text: String) throws -> [Int] {
            let line = text.split(separator: "\n").last { $0.hasPrefix(word + " ") }
            return try #require(line, "\(text)").split(separator: " ").dropFirst().compactMap { Int($0) }
        }

        /// Ends the server, not the script that started it.
        private static func terminate(_ process: BuiltProgram) async throws {
            let pid = try numbers(after: "process", in: try await process.output(until: "process "))
            Foundation.kill(Int32(pid[0]), SIGTERM)
        }

        @Test(
            "the server serves at those named http and admin, in any order, and not at the settings' addresses"
        )
        func both() async throws {
            for names in [["http=tcp", "admin=tcp"], ["admin=tcp", "http=tcp"]] {
                try await Self.serving(names) { ports, process in
                    let text = try await process.output(until: "\"name\": \"me\"}'")
                    let passed = try Self.numbers(after: "ports", in: text)
                    let (api, admin) =
                        names[0] == "http=tcp" ? (passed[0], passed[1]) : (passed[1], passed[0])
                    #expect(try await ports.status("/.well-known/webauthn", port: api) == 200)
                    #expect(try await ports.status("/health/ready", port: admin) == 200)
                    #expect(try await ports.status("/health/ready", port: api) == 404)
                    #expect(text.contains("http://127.0.0.1:\(admin)/admin/v1/bootstrap"), "\(text)")
                    #expect(text.ranges(of: "a passed socket").count == 2, "\(text)")
                    for unused in [ports.api, ports.admin] {
                        await #expect(throws: (any Error).self) { try await RawConnection(port: unused) }
                    }
                    try await Self.terminate(process)
                    #expect(await process.status() == 0)
                }
            }
        }

        @Test("a request that comes while the server restarts waits, and is answered")
        func restart() async throws {
            try await Self.serving(["--starts", "2", "http=tcp", "admin=tcp"]) { ports, process in
                let text = try await process.output(until: "\"name\": \"me\"}'")
                let api = try Self.numbers(after: "ports", in: text)[0]
                try await Self.terminate(process)
                _ = try await process.output(until: "ended 1")
                let waiting = try await RawConnection(port: api)
                await waiting.send("GET /.well-known/webauthn HTTP/1.1\r\nHost: localhost\r\n\r\n")
                Foundation.kill(process.processIdentifier, SIGUSR1)
                #expect(await waiting.received(until: "origins").hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(
                    waiting.received.contains(
                        /\r\nDate: [A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT\r\n/
                    )
                )
                _ = try await process.output(until: "process ", times: 2)
                try await Self.terminate(process)
                #expect(await process.status() == 0)
            }
        }

        @Test(
            "one alone takes the place of its setting, the other setting counts",
            arguments: ["http", "admin"]
        )
        func one(name: String) async throws {
            try await Self.serving(["\(name)=tcp"]) { ports, process in
                let text = try await process.output(until: "\"name\": \"me\"}'")
                let passed = try Self.numbers(after: "ports", in: text)[0]
                let (api, admin) = name == "http" ? (passed, ports.admin) : (ports.api, passed)
                #expect(try await ports.status("/.well-known/webauthn", port: api) == 200)
                #expect(try await ports.status("/health/ready", port: admin) == 200)
                try await Self.terminate(process)
                #expect(await process.status() == 0)
            }
        }

        @Test("sockets for another process are none of the server's")
        func another() async throws {
            try await Self.serving(["--pid", "1", "http=tcp", "admin=tcp"]) { ports, process in
                try await ports.wait(process)
                try await Self.terminate(process)
                #expect(await process.status() == 0)
            }
        }

        @Test(
            "sockets with which the server cannot serve, or not safely, are refused by name",
            arguments: [
                (["unknown=tcp"], "FileDescriptorName="), (["http=tcp", "http=tcp"], "FileDescriptorName="),
                (["http=tcp", "admin=tcp", "more=tcp"], "FileDescriptorName="),
                (["h\u{1B}[31m=tcp"], "h\\u001b[31m"),
                (["http=udp"], "socket http is no listening"),
                (["admin=unix"], "socket admin is no listening"),
                (["http=bound"], "ListenStream="), (["http=file"], "ListenStream="),
                (["admin=any"], "admin-listen 0.0.0.0"),
            ]
        )
        func refused(words: [String], reason: String) async throws {
            try await Self.serving(words) { _, process in
                #expect(await process.status() == 78)
                let text = try await process.output(until: nil)
                #expect(text.contains(reason), "\(text)")
                #expect(!text.contains("\u{1B}"))
            }
        }

        @Test("the variables are read as sd_listen_fds(3) says")
        func variables() throws {
            let me = "\(getpid())"
            for environment in [
                [:], ["LISTEN_FDS": "1", "LISTEN_FDNAMES": "http"], ["LISTEN_PID": me],
                ["LISTEN_PID": me, "LISTEN_FDS": "0"], ["LISTEN_PID": "x", "LISTEN_FDS": "1"],
            ] {
                let sockets = try PassedSockets(environment: environment)
                #expect(sockets.http == nil && sockets.admin == nil)
            }
            for (count, names) in [
                ("x", "http"), ("-1", ""), ("1", ""), ("2", "http"), ("1", "http:admin"),
                ("2000000000", "http"), ("", "http"),
            ] {
                #expect(throws: StartError.self, "\(count) \(names)") {
                    try PassedSockets(environment: [
                        "LISTEN_PID": me, "LISTEN_FDS": count, "LISTEN_FDNAMES": names,
                    ])
                }
            }
        }
    }
}
