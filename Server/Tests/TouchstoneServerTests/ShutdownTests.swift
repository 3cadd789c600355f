import Foundation
import NIOHTTP1
import Testing

@testable import TouchstoneServer

extension ServerTests {
    @Suite("The limit of a shutdown")
    struct ShutdownTests {
        /// Where a request hangs.
        enum Place: CaseIterable {
            case plain, secure, admin
        }

        /// A server with a limit of `limit` seconds, and a connection for each port.
        private static func with(
            limit: Int,
            isSecure: Bool,
            _ body: (BuiltProgram, FreePorts) async throws -> Void
        ) async throws {
            try await TestServer.inDirectory { directory in
                let ports = try FreePorts()
                var environment = ports.environment
                environment["TOUCHSTONE_SERVER_SHUTDOWN_TIMEOUT"] = "\(limit)"
                // Not what ends the requests here.
                environment["TOUCHSTONE_SERVER_REQUEST_TIMEOUT"] = "600"
                if isSecure {
                    _ = try TLSTestFiles(directory)
                    environment["TOUCHSTONE_SERVER_TLS_CERTIFICATE"] = "\(directory)/tls.pem"
                    environment["TOUCHSTONE_SERVER_TLS_KEY"] = "\(directory)/tls.key"
                    environment["TOUCHSTONE_SERVER_PUBLIC_URL"] = "https://localhost:\(ports.api)"
                }
                let process = try BuiltProgram(directory, ["serve"], environment)
                _ = try await process.output(until: "curl ")
                try await body(process, ports)
                if process.isRunning { process.kill() }
            }
        }

        /// A request whose body is asked for, and half sent.
        private static func half(_ port: Int, _ path: String, isSecure: Bool) async throws -> RawConnection {
            let connection = try await RawConnection(port: port, isSecure: isSecure)
            let fields = "Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n"
            await connection.send("POST \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n")
            #expect(
                await connection.received(until: "100 Continue\r\n\r\n").hasSuffix("100 Continue\r\n\r\n")
            )
            await connection.send("{")
            return connection
        }

        @Test(
            "a request that hangs is cut off after the limit, others are finished, and the status says so",
            arguments: Place.allCases
        )
        func cut(_ place: Place) async throws {
            let isSecure = place == .secure
            try await Self.with(limit: 3, isSecure: isSecure) { process, ports in
                let path = "/v1/login/options"
                let hanging =
                    place == .admin
                    ? try await Self.half(ports.admin, "/admin/v1/bootstrap", isSecure: false)
                    : try await Self.half(ports.api, path, isSecure: isSecure)
                let slow = try await Self.half(ports.api, path, isSecure: isSecure)
                let idle = try await RawConnection(port: ports.api, isSecure: isSecure)
                await idle.send("GET /.well-known/webauthn HTTP/1.1\r\nHost: localhost\r\n\r\n")
                #expect(await idle.received(until: "origins").contains("200 OK"))
                let start = ContinuousClock.now
                process.terminate()
                #expect(await idle.closed(within: .seconds(60)) != nil)
                // Nobody listens any more.
                await #expect(throws: (any Error).self) { try await RawConnection(port: ports.api) }
                #expect(process.isRunning)
                await slow.send("}")
                #expect(
                    await slow.received(until: "ceremonyId").contains("HTTP/1.1 200 OK"),
                    "\(slow.received)"
                )
                #expect(await process.status() == 75)
                #expect(ContinuousClock.now - start > .seconds(2.9))
                #expect(ContinuousClock.now - start < .seconds(30))
                #expect(await hanging.closed(within: .seconds(60)) != nil)
                #expect(!hanging.received.contains("200 OK"))
                let log = try await process.output(until: nil)
                // With TLS those that wait for the client's part of the closing are counted too.
                let count = isSecure ? "" : "1\n"
                #expect(
                    log.contains("did not end in the 3 s of shutdown-timeout; connections closed: \(count)"),
                    "\(log)"
                )
            }
        }

        @Test(
            "without a request in progress the server ends at once, whatever connections wait",
            arguments: [false, true]
        )
        func idle(isSecure: Bool) async throws {
            try await Self.with(limit: 600, isSecure: isSecure) { process, ports in
                var connections: [RawConnection] = []
                for first in ["", "POST /v1/lo", "POST /v1/login/options HTTP/1.1\r\nHost: localhost\r\n"] {
                    let connection = try await RawConnection(port: ports.api, isSecure: isSecure)
                    await connection.send(first)
                    connections.append(connection)
                }
                connections.append(try await RawConnection(port: ports.admin))
                let start = ContinuousClock.now
                process.terminate()
                #expect(await process.status() == 0)
                #expect(ContinuousClock.now - start < .seconds(60))
                for connection in connections {
                    #expect(await connection.closed(within: .seconds(60)) != nil)
                }
            }
        }

        @Test("a request that ends within the limit delays the shutdown, and is no failure")
        func within() async throws {
            try await Self.with(limit: 600, isSecure: false) { process, ports in
                let slow = try await Self.half(ports.api, "/v1/login/options", isSecure: false)
                let idle = try await RawConnection(port: ports.api)
                await idle.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                _ = await idle.received(until: "</html>")
                process.terminate()
                #expect(await idle.closed(within: .seconds(60)) != nil)
                #expect(process.isRunning)
                await slow.send("}")
                #expect(await process.status() == 0)
                #expect(slow.received.contains("HTTP/1.1 200 OK"))
            }
        }

        @Test("the setting has a default of 25 s, a range, and changes by a reload")
        func setting() throws {
            func read(_ value: String?) throws -> Int {
                try ServerConfiguration.read(
                    file: nil,
                    environment: value.map { ["TOUCHSTONE_SERVER_SHUTDOWN_TIMEOUT": $0] } ?? [:]
                ).shutdownTimeout
            }
            #expect(try read(nil) == 25)
            #expect(try read("1") == 1)
            #expect(try read("3600") == 3600)
            for value in ["0", "3601", "-1", "25s", ""] {
                #expect(throws: ConfigurationFault.self) { try read(value) }
            }
            #expect(!ServerConfiguration.fixedKeys.contains("shutdown-timeout"))
        }
    }
}
