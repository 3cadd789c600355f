import Foundation
import NIOHTTP1
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("The access log")
    struct AccessLogTests {
        /// The metadata of the messages `request` in a log of JSON.
        private static func requests(in text: String) throws -> [[String: Any]] {
            try text.split(separator: "\n").filter { $0.hasPrefix("{") }.compactMap { line in
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                guard object?["message"] as? String == "request" else { return nil }
                #expect(object?["level"] as? String == "info")
                return object?["metadata"] as? [String: Any]
            }
        }

        private static func with(
            _ settings: String,
            _ body: (BuiltProgram, TestServer, FreePorts, String) async throws -> Void
        ) async throws {
            try await TestServer.inDirectory { directory in
                let ports = try FreePorts()
                try TestServer.write(["server.conf": "log-format = json\n\(settings)\n"], to: directory)
                let process = try BuiltProgram(
                    directory,
                    ["serve", "--config", "\(directory)/server.conf"],
                    ports.environment
                )
                _ = try await process.output(until: "\"name\": \"me\"}'")
                let server = try ports.server(in: directory)
                try await body(process, server, ports, directory)
                process.terminate()
                #expect(await process.status() == 0)
            }
        }

        @Test("each request has its route, status, size, time and client, and nothing that is a secret")
        func requests() async throws {
            try await Self.with("access-log = on\ntrusted-proxies = 127.0.0.1") { process, server, ports, _ in
                let secret = "ts_at_verysecret"
                let fields: HTTPHeaders = [
                    "Authorization": "Bearer \(secret)", "Cookie": "touchstone=\(secret)",
                    "X-Forwarded-For": "192.0.2.7", "X-Secret": secret,
                ]
                let page = try await server.send(.GET, server.api + "/?token=\(secret)", fields)
                #expect(page.status == 200)
                let me = try await server.send(.GET, server.api + "/v1/me?\(secret)", fields)
                #expect(me.status == 401)
                #expect(
                    try await server.send(.DELETE, server.api + "/v1/credentials/\(secret)", fields).status
                        == 401
                )
                #expect(try await server.send(.GET, server.api + "/no/\(secret)", fields).status == 404)
                #expect(try await server.send(.HEAD, server.api + "/", fields).status == 200)
                #expect(
                    try await server.call(
                        .POST,
                        "/v1/login/password",
                        ["username": "anna", "password": .string(secret)]
                    ).status == 401
                )
                #expect(try await server.call(.GET, "/health/live", isAdmin: true).status == 200)
                let invented = try await RawConnection(port: ports.api)
                await invented.send("PROPFIND / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                #expect(await invented.received(until: "method_not_allowed").contains("HTTP/1.1 405"))
                let text = try await process.output(until: #""message":"request""#, times: 8)
                #expect(!text.lowercased().contains("verysecret"), "\(text)")
                let requests = try Self.requests(in: text)
                #expect(
                    requests.map { $0["method"] as? String } == [
                        "GET", "GET", "DELETE", "GET", "HEAD", "POST", "GET", "other",
                    ]
                )
                #expect(
                    requests.map { $0["route"] as? String } == [
                        "/", "/v1/me", "/v1/credentials/{id}", "NotFound", "/", "/v1/login/password",
                        "/health/live", "NotFound",
                    ]
                )
                #expect(requests.map { $0["status"] as? Int } == [200, 401, 401, 404, 200, 401, 200, 405])
                #expect(requests[0]["bytes"] as? Int == page.body.count)
                #expect(requests[1]["bytes"] as? Int == me.body.count)
                #expect(requests[4]["bytes"] as? Int == 0)
                #expect(requests[1]["trace"] as? String == me.headers.first(name: "X-Request-Id"))
                #expect(requests[1]["client"] as? String == "192.0.2.7")
                #expect(requests[5]["client"] as? String == "127.0.0.1")
                #expect(requests[7]["client"] as? String == "127.0.0.1")
                for request in requests {
                    let duration = try #require(request["duration-us"] as? Int)
                    #expect((0..<60_000_000).contains(duration))
                    #expect((request["trace"] as? String)?.count == 32)
                    #expect(request.count == 7)
                }
            }
        }

        @Test("it is off by default, and a reload turns it on and off")
        func reload() async throws {
            try await Self.with("") { process, server, _, directory in
                func get() async throws -> Int {
                    try await server.send(.GET, server.api + "/v1/me").status
                }
                #expect(try await get() == 401)
                for (setting, change) in [("on", "access-log is on"), ("off", "access-log is off")] {
                    try TestServer.write(
                        ["server.conf": "log-format = json\naccess-log = \(setting)\n"],
                        to: directory
                    )
                    process.hangUp()
                    _ = try await process.output(until: change)
                    #expect(try await get() == 401)
                }
                #expect(try Self.requests(in: try await process.output(until: nil)).count == 1)
                // The form is that of the start.
                try TestServer.write(["server.conf": "log-format = text\n"], to: directory)
                process.hangUp()
                _ = try await process.output(until: "log-format changes only at the next start")
            }
        }

        @Test("without the level of its messages it is refused, since it would be empty")
        func level() throws {
            func read(_ level: String, _ access: String) throws -> ServerConfiguration {
                try ServerConfiguration.read(
                    file: nil,
                    environment: [
                        "TOUCHSTONE_SERVER_LOG_LEVEL": level, "TOUCHSTONE_SERVER_ACCESS_LOG": access,
                    ]
                )
            }
            for level in ["trace", "debug", "info"] { #expect(try read(level, "on").accessLog) }
            for level in ["notice", "warning", "error", "critical"] {
                #expect(throws: ConfigurationFault.self) { try read(level, "on") }
                #expect(try !read(level, "off").accessLog)
            }
            #expect(throws: ConfigurationFault.self) { try read("info", "yes") }
            #expect(throws: ConfigurationFault.self) {
                try ServerConfiguration.read(file: nil, environment: ["TOUCHSTONE_SERVER_LOG_FORMAT": "xml"])
            }
        }
    }
}
