import Foundation
import Testing

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Reports to the service manager")
    struct ServiceManagerTests {
        /// A running program and its service manager's socket.
        private static func with(
            _ address: (String) -> String,
            _ body: (BuiltProgram, NotificationSocket, FreePorts, String) async throws -> Void
        ) async throws {
            try await TestServer.inDirectory { directory in
                let manager = try NotificationSocket(address(directory))
                let ports = try FreePorts()
                try TestServer.write(["server.conf": "rp-name = Touchstone\n"], to: directory)
                var environment = ports.environment
                environment["NOTIFY_SOCKET"] = manager.address
                let process = try BuiltProgram(
                    directory,
                    ["serve", "--config", "\(directory)/server.conf"],
                    environment
                )
                try await body(process, manager, ports, directory)
                if process.isRunning { process.kill() }
            }
        }

        @Test(
            "it learns that the server serves, reads its configuration again, and ends",
            arguments: [false, true]
        )
        func reports(isAbstract: Bool) async throws {
            try await Self.with({ isAbstract ? "@touchstone-\(UUID().uuidString)" : "\($0)/manager" }) {
                process,
                manager,
                ports,
                directory in
                #expect(try await manager.next() == ["READY=1", "STATUS=Serving http://localhost:8080"])
                // Without waiting: it was ready.
                #expect(try await ports.status("/.well-known/webauthn", port: ports.api) == 200)
                #expect(try await ports.status("/health/ready", port: ports.admin) == 200)
                for (text, log) in [
                    ("rp-name = Other\n", "rp-name is Other"), ("rp-name\n", "not reloaded"),
                ] {
                    try TestServer.write(["server.conf": text], to: directory)
                    let before = NotificationSocket.now
                    process.hangUp()
                    let begun = try await manager.next()
                    #expect(begun.count == 2 && begun[0] == "RELOADING=1", "\(begun)")
                    let parts = begun[1].split(separator: "=")
                    #expect(parts[0] == "MONOTONIC_USEC")
                    let time = try #require(Int(parts[1]))
                    #expect((before...NotificationSocket.now).contains(time))
                    #expect(try await manager.next().first == "READY=1")
                    #expect(try await process.output(until: nil).contains(log))
                }
                #expect(manager.isEmpty)
                process.terminate()
                #expect(try await manager.next() == ["STOPPING=1"])
                #expect(await process.status() == 0)
                #expect(manager.isEmpty)
            }
        }

        @Test("it does not learn that a server serves that cannot start")
        func refused() async throws {
            try await TestServer.inDirectory { directory in
                let manager = try NotificationSocket("\(directory)/manager")
                let ports = try FreePorts()
                // The port of administrators is the API's.
                for (environment, expected) in [
                    (["TOUCHSTONE_SERVER_PROFILE": "aal9"], 78 as Int32),
                    (["TOUCHSTONE_SERVER_ADMIN_LISTEN": "127.0.0.1:\(ports.api)"], 1),
                ] {
                    let process = try BuiltProgram(
                        directory,
                        ["serve"],
                        ports.environment.merging(["NOTIFY_SOCKET": manager.address]) { $1 }
                            .merging(environment) { $1 }
                    )
                    #expect(await process.status() == expected)
                    while !manager.isEmpty { Issue.record("a server that cannot start reported") }
                }
            }
        }

        @Test(
            "a manager that is away, or has no address, keeps no server from serving",
            arguments: [
                "/nowhere/manager", "relative", "vsock:2:1", "/" + String(repeating: "x", count: 200), "",
            ]
        )
        func away(address: String) async throws {
            try await TestServer.inDirectory { directory in
                let ports = try FreePorts()
                let process = try BuiltProgram(
                    directory,
                    ["serve"],
                    ports.environment.merging(["NOTIFY_SOCKET": address]) { $1 }
                )
                try await ports.wait(process)
                process.terminate()
                #expect(await process.status() == 0)
            }
        }
    }
}
