import Foundation
import NIOHTTP1
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("The database is missing, locked or full")
    struct DatabaseFaultTests {
        private static let canMount = geteuid() == 0

        /// Expects 503 for every call that needs the store, a failing readiness probe, and a passing liveness probe.
        private func expectUnavailable(_ server: TestServer, _ user: TestUser, _ begun: JSONValue)
            async throws
        {
            for answer in [
                try await server.call(.POST, "/v1/login", begun),
                try await server.call(.POST, "/v1/login/options", [:]),
                try await user.logIn(),
                try await user.call(.POST, "/v1/logout"),
                try await user.call(.POST, "/v1/credentials/options", ["kind": "passkey", "label": "Key"]),
            ] {
                #expect(answer.status == 503, "\(answer.text)")
                #expect(answer.headers.contains(name: "Retry-After"))
                #expect(answer.code == "overloaded")
                // The log names the fault.
                #expect(
                    !answer.text.contains("sqlite")
                        && !answer.text.contains(server.configuration.dataDirectory)
                )
            }
            let token = try await user.renew()
            #expect(token.status == 503 && token.code == "temporarily_unavailable", "\(token.text)")
            let ready = try await server.call(.GET, "/health/ready", isAdmin: true)
            #expect(ready.status == 503 && ready.text.contains("store"))
            #expect(try await server.call(.GET, "/health/live", isAdmin: true).status == 200)
        }

        /// Expects that everything works again, with nothing half done.
        private func expectRecovered(
            _ server: TestServer,
            _ user: TestUser,
            sessions: Int,
            _ begun: JSONValue
        ) async throws {
            #expect(try await server.call(.GET, "/health/ready", isAdmin: true).status == 200)
            let me = try await user.call(.GET, "/v1/me")
            #expect(me.status == 200, "\(me.text)")
            #expect(me["sessions"]?.integer == Int64(sessions))
            #expect(me["credentials"]?.integer == 1)
            // The failed attempt did not consume the ceremony.
            #expect(try await server.call(.POST, "/v1/login", begun).status == 200)
            #expect(try await server.call(.POST, "/v1/login", begun).status == 410)
            #expect(try await user.renew().status == 200)
        }

        @Test("its file is moved away and back")
        func gone() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                let begun = try await user.passkeyBody(signCount: 7)
                let path = server.configuration.databaseAddress
                try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
                try await expectUnavailable(server, user, begun)
                #expect(!FileManager.default.fileExists(atPath: path))
                try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
                try await expectRecovered(server, user, sessions: 1, begun)
            }
        }

        @Test("another process holds its lock")
        func held() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                let begun = try await user.passkeyBody(signCount: 7)
                let process = Process()
                process.executableURL = URL(filePath: "/usr/bin/env")
                process.arguments = [
                    "python3", "-c",
                    """
                    import sqlite3, sys
                    database = sqlite3.connect(sys.argv[1], isolation_level=None)
                    database.execute("BEGIN EXCLUSIVE")
                    print("held", flush=True)
                    sys.stdin.read()
                    """,
                    server.configuration.databaseAddress,
                ]
                let (input, output) = (Pipe(), Pipe())
                process.standardInput = input
                process.standardOutput = output
                try process.run()
                #expect(output.fileHandleForReading.readData(ofLength: 4) == Data("held".utf8))
                let start = ContinuousClock.now
                let answer = try await server.call(.POST, "/v1/login", begun)
                #expect(answer.status == 503 && answer.headers.contains(name: "Retry-After"))
                // The store's timeout is five seconds.
                #expect(ContinuousClock.now - start < .seconds(60))
                #expect(try await server.call(.GET, "/health/ready", isAdmin: true).status == 503)
                // Reads still work.
                #expect(try await user.call(.GET, "/v1/me").status == 200)
                try input.fileHandleForWriting.close()
                process.waitUntilExit()
                try await expectRecovered(server, user, sessions: 1, begun)
            }
        }

        @Test("its disk is full", .enabled(if: canMount, "needs root"))
        func full() async throws {
            try await TestServer.inDirectory { directory in
                func mount(_ program: String, _ arguments: String...) throws {
                    let process = Process()
                    process.executableURL = URL(filePath: "/bin/\(program)")
                    process.arguments = arguments
                    try process.run()
                    process.waitUntilExit()
                    #expect(process.terminationStatus == 0)
                }
                let disk = "\(directory)/disk"
                try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
                try mount("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk)
                var configuration = try TestServer.configuration(directory)
                configuration.database = "\(disk)/accounts.sqlite"
                do {
                    try await TestServer.with(configuration) { server in
                        let user = try await TestUser.withPasskey(on: server)
                        let begun = try await user.passkeyBody(signCount: 7)
                        #expect(FileManager.default.createFile(atPath: "\(disk)/filler", contents: nil))
                        let filler = try FileHandle(forWritingTo: URL(filePath: "\(disk)/filler"))
                        let page = Data(count: 4096)
                        while (try? filler.write(contentsOf: page)) != nil {}
                        // First fill the pages that the log has already allocated.
                        var answer = try await server.call(.POST, "/v1/login/options", [:])
                        for _ in 0..<5000 where answer.status == 200 {
                            answer = try await server.call(.POST, "/v1/login/options", [:])
                        }
                        try await expectUnavailable(server, user, begun)
                        try filler.close()
                        try FileManager.default.removeItem(atPath: "\(disk)/filler")
                        try await expectRecovered(server, user, sessions: 1, begun)
                    }
                } catch {
                    try mount("umount", "-l", disk)
                    throw error
                }
                try mount("umount", disk)
            }
        }
    }
}
