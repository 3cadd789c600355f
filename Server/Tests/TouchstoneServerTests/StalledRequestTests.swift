import Foundation
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Stalled requests")
    struct StalledRequestTests {
        private static let head =
            "POST /v1/login/options HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

        /// What a client sends before it stalls, and the piece that it then sends repeatedly.
        private static let stalls: [(name: String, first: String, again: String?)] = [
            ("nothing", "", nil), ("half a line", "POST /v1/lo", nil), ("half a head", head, nil),
            ("a head by and by", head, "X-More: 1\r\n"), ("a letter at a time", "GET /", "a"),
            ("no body", head + "Content-Length: 100\r\n\r\n", nil),
            ("a body by and by", head + "Content-Length: 60000\r\n\r\n{", " "),
            ("chunks without end", head + "Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n"),
            (
                "nothing after a body that was refused before it came",
                head + "Content-Length: 70000\r\n\r\n" + String(repeating: " ", count: 70_000), nil
            ),
            ("half a second request", head + "Content-Length: 2\r\n\r\n{}GET /v1/me HT", nil),
        ]

        @Test("a stalled connection is closed in time, and others are answered meanwhile")
        func stalled() async throws {
            try await TestServer.with {
                $0.requestTimeout = 2
            } _: { server in
                let port = try #require(URL(string: server.api)?.port)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (name, first, again) in Self.stalls {
                        group.addTask {
                            let connection = try await RawConnection(port: port)
                            await connection.send(first)
                            let trickle = Task {
                                while let again, !Task.isCancelled {
                                    try await Task.sleep(for: .milliseconds(200))
                                    await connection.send(again)
                                }
                            }
                            let time = await connection.closed(within: .seconds(60))
                            trickle.cancel()
                            #expect(time != nil, "\(name) is still there")
                            await connection.close()
                        }
                    }
                    for _ in 0..<20 {
                        #expect(try await server.call(.POST, "/v1/login/options", [:]).status == 200)
                        try await Task.sleep(for: .milliseconds(50))
                    }
                    try await group.waitForAll()
                }
                #expect(try await server.call(.POST, "/v1/login/options", [:]).status == 200)
            }
        }

        @Test("a request whose processing takes longer than the timeout is answered")
        func longWork() async throws {
            try await TestServer.with {
                $0.requestTimeout = 1
                $0.passwordWorkers = 1
                $0.passwordCost = .init(ln: 15, r: 8, p: 24)
            } _: { server in
                let start = ContinuousClock.now
                let body: JSONValue = ["username": "nobody", "password": "wrong wrong"]
                let answer = try await server.call(.POST, "/v1/login/password", body)
                #expect(answer.status == 401)
                // Otherwise the test proves nothing.
                #expect(ContinuousClock.now - start > .seconds(1))
            }
        }

        @Test("a crowd of stalled connections leaves room for others")
        func crowd() async throws {
            try await TestServer.with { server in
                let port = try #require(URL(string: server.api)?.port)
                var crowd: [RawConnection] = []
                for number in 0..<300 {
                    let connection = try await RawConnection(port: port)
                    await connection.send(Self.stalls[number % Self.stalls.count].first)
                    crowd.append(connection)
                }
                for _ in 0..<5 {
                    #expect(try await server.call(.POST, "/v1/login/options", [:]).status == 200)
                }
                for connection in crowd { await connection.close() }
            }
        }

        @Test(
            "with more connections than file descriptors probes are answered, and the server recovers"
        )
        func descriptors() async throws {
            try await TestServer.inDirectory { directory in
                let ports = try FreePorts()
                let process = try BuiltProgram(
                    directory,
                    ["serve"],
                    ports.environment.merging(["TOUCHSTONE_SERVER_REQUEST_TIMEOUT": "600"]) { $1 },
                    through: "ulimit -n 256"
                )
                try await ports.wait(process)
                var crowd: [RawConnection] = []
                for _ in 0..<300 { crowd.append(try await RawConnection(port: ports.api)) }
                // Probes have their own port, and descriptors reserved for it.
                for _ in 0..<5 { #expect(try await ports.status("/health/ready", port: ports.admin) == 200) }
                for connection in crowd { await connection.close() }
                #expect(try await ports.status("/.well-known/webauthn", port: ports.api) == 200)
                process.terminate()
                #expect(await process.status() == 0)
            }
        }
    }
}
