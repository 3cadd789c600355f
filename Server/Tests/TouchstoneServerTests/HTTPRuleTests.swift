import Foundation
import HTTPTypes
import NIOHTTP1
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Rules of HTTP")
    struct HTTPRuleTests {
        /// The ports of a server, with plain HTTP and with TLS on both.
        private static func with(
            isSecure: Bool,
            _ body: (TestServer, (api: Int, admin: Int)) async throws -> Void
        ) async throws {
            try await TestServer.inDirectory { directory in
                var configuration = try TestServer.configuration(directory)
                if isSecure { try TLSTestFiles(directory).apply(to: &configuration) }
                try await TestServer.with(configuration) { server in
                    let api = try #require(URL(string: server.api)?.port)
                    let admin = try #require(URL(string: server.admin)?.port)
                    try await body(server, (api, admin))
                }
            }
        }

        /// The header fields of a response's head, without those that differ each time.
        private static func fields(_ head: Substring) -> [String: String] {
            var fields: [String: String] = [:]
            for line in head.split(separator: "\r\n").dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                fields[parts[0].lowercased()] = parts.last.map { $0.trimmingCharacters(in: .whitespaces) }
            }
            for name in ["date", "x-request-id", "dpop-nonce"] { fields[name] = nil }
            return fields
        }

        @Test(
            "HEAD has the status and the fields of GET, the length included, and no body",
            arguments: [false, true]
        )
        func head(isSecure: Bool) async throws {
            try await Self.with(isSecure: isSecure) { server, ports in
                var tokens = ["", TestServer.serviceSecret, server.adminToken]
                // Users are made over plain HTTP.
                if !isSecure { tokens.append(try await TestUser.signedIn(on: server).access) }
                var statuses: Set<String> = []
                let paths =
                    API.operations.filter { $0.method == .get }.map { (ports.api, isSecure, $0.path) }
                    + AdminAPI.operations.filter { $0.method == .get }.map { (ports.admin, false, $0.path) }
                    + [(ports.api, isSecure, "/nowhere"), (ports.api, isSecure, "/v1/login")]
                for (port, isSecure, template) in paths {
                    for token in tokens {
                        let path = template.replacing("{id}", with: "AAAA").replacing(
                            "{name}",
                            with: "page.js"
                        )
                        let connection = try await RawConnection(port: port, isSecure: isSecure)
                        func request(_ method: String, _ last: String) -> String {
                            let field = token.isEmpty ? "" : "Authorization: Bearer \(token)\r\n"
                            return "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(field)\(last)\r\n"
                        }
                        // A body would stand before the second response.
                        await connection.send(request("HEAD", "") + request("GET", "Connection: close\r\n"))
                        #expect(await connection.closed(within: .seconds(60)) != nil)
                        let parts = connection.received.split(
                            separator: "\r\n\r\n",
                            maxSplits: 2,
                            omittingEmptySubsequences: false
                        )
                        try #require(parts.count == 3, "\(path): \(connection.received)")
                        let status = parts[0].prefix { $0 != "\r\n" }
                        #expect(status == parts[1].prefix { $0 != "\r\n" }, "\(path)")
                        statuses.insert(String(status.dropFirst("HTTP/1.1 ".count).prefix(3)))
                        var (bare, full) = (Self.fields(parts[0]), Self.fields(parts[1]))
                        #expect(
                            full["content-length"]
                                == (full["content-length"].map { _ in "\(parts[2].utf8.count)" })
                        )
                        // The first of the two requests is counted in the second's metrics.
                        if path == "/metrics" { (bare["content-length"], full["content-length"]) = ("", "") }
                        // Its documents have a trace id, always of the same length.
                        #expect(bare == full, "\(path)")
                    }
                }
                #expect(statuses.isSuperset(of: ["200", "401", "404", "405"]), "\(statuses)")
            }
        }

        @Test("HEAD is allowed where GET is, in cookies' sessions too, and answers a conditional request")
        func headElsewhere() async throws {
            try await TestServer.with { server in
                let answer = try await server.send(.DELETE, server.api + "/v1/me")
                #expect(answer.status == 405 && answer.headers.first(name: "Allow") == "GET, HEAD")
                let page = try await server.send(.GET, server.api + "/")
                let tag = try #require(page.headers.first(name: "ETag"))
                let known = try await server.send(.HEAD, server.api + "/", ["If-None-Match": tag])
                #expect(known.status == 304 && known.body.isEmpty)
                let user = try await TestUser.make(on: server)
                let body: JSONValue = [
                    "username": .string(user.name), "password": .string(TestUser.password),
                    "session": "cookie",
                ]
                let login = try await server.send(
                    .POST,
                    server.api + "/v1/login/password",
                    ["Origin": TestServer.origin],
                    (Array(body.text.utf8), "application/json")
                )
                #expect(login.status == 200, "\(login.text)")
                let cookies = login.headers["Set-Cookie"].map { $0.prefix { $0 != ";" } }.joined(
                    separator: "; "
                )
                // Without Origin, as browsers send both methods.
                for method in [NIOHTTP1.HTTPMethod.GET, .HEAD] {
                    let me = try await server.send(method, server.api + "/v1/me", ["Cookie": cookies])
                    #expect(me.status == 200, "\(method)")
                }
            }
        }

        /// The start of a request, and the status it gets.
        private static let hosts: [(head: String, status: Int)] = [
            ("HTTP/1.1\r\nHost: localhost\r\n", 200), ("HTTP/1.1\r\nhost: [::1]:8080\r\n", 200),
            ("HTTP/1.1\r\nHost:\r\n", 200), ("HTTP/1.1\r\n", 400),
            ("HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n", 400),
            ("HTTP/1.1\r\nHost: localhost\r\nX-Other: 1\r\nhOST: evil.example\r\n", 400),
            ("HTTP/1.1\r\nHost: a b\r\n", 400), ("HTTP/1.1\r\nHost: a/b\r\n", 400),
            ("HTTP/1.1\r\nHost: user@a\r\n", 400), ("HTTP/1.1\r\nHost: a\"b\r\n", 400),
            ("HTTP/1.0\r\n", 200), ("HTTP/1.0\r\nHost: localhost\r\n", 200),
            ("HTTP/1.0\r\nConnection: keep-alive\r\n", 200), ("HTTP/1.0\r\nHost: a\r\nHost: a\r\n", 400),
        ]

        @Test(
            "Host has to be there once, except in HTTP/1.0; a refused request is the last one",
            arguments: [false, true]
        )
        func host(isSecure: Bool) async throws {
            try await Self.with(isSecure: isSecure) { _, ports in
                for (port, isSecure, path) in [
                    (ports.api, isSecure, "/.well-known/webauthn"), (ports.admin, false, "/health/live"),
                ] {
                    let next = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                    for (head, status) in Self.hosts + [("HTTP/1.1\r\n", 400)] {
                        let connection = try await RawConnection(port: port, isSecure: isSecure)
                        await connection.send("GET \(path) \(head)\r\n\(next)")
                        #expect(await connection.closed(within: .seconds(60)) != nil, "\(head)")
                        let text = connection.received
                        #expect(text.hasPrefix("HTTP/1.1 \(status) "), "\(head): \(text)")
                        let isLast = status == 400 || head.hasPrefix("HTTP/1.0")
                        #expect(text.ranges(of: "HTTP/1.1 ").count == (isLast ? 1 : 2), "\(head): \(text)")
                        guard status == 400 else { continue }
                        #expect(
                            text.contains("invalid_request") && text.contains("the field Host"),
                            "\(text)"
                        )
                        #expect(text.lowercased().contains("\r\nconnection: close\r\n"))
                    }
                    // With the target in absolute form, which has a host of its own.
                    let connection = try await RawConnection(port: port, isSecure: isSecure)
                    await connection.send("GET http://localhost\(path) HTTP/1.1\r\n\r\n")
                    #expect(await connection.received(until: "the field Host").hasPrefix("HTTP/1.1 400 "))
                    await connection.close()
                }
            }
        }

        private static let asked = "HTTP/1.1 100 Continue\r\n\r\n"

        private static func post(_ path: String, _ fields: String, version: String = "1.1") -> String {
            "POST \(path) HTTP/\(version)\r\nHost: localhost\r\nExpect: 100-continue\r\n\(fields)\r\n\r\n"
        }

        @Test(
            "a client that expects 100 is asked for the body, once, and its connection serves on",
            arguments: [false, true]
        )
        func expected(isSecure: Bool) async throws {
            try await Self.with(isSecure: isSecure) { _, ports in
                let json = "Content-Type: application/json\r\n"
                for (head, body) in [
                    (Self.post("/v1/login/options", json + "Content-Length: 2"), "{}"),
                    (
                        Self.post("/v1/login/options", json + "Content-Length: 2")
                            .replacing("100-continue", with: "100-Continue"), "{}"
                    ),
                    (
                        Self.post("/v1/login/options", json + "Transfer-Encoding: chunked"),
                        "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
                    ),
                ] {
                    let connection = try await RawConnection(port: ports.api, isSecure: isSecure)
                    for number in 1...2 {
                        await connection.send(head)
                        let start = await connection.received(until: Self.asked, times: number)
                        #expect(start.hasSuffix(Self.asked), "\(start)")
                        await connection.send(body)
                        let text = await connection.received(until: "ceremonyId", times: number)
                        #expect(text.ranges(of: Self.asked).count == number)
                        #expect(text.ranges(of: "HTTP/1.1 200 OK").count == number, "\(text)")
                        #expect(!text.lowercased().contains("connection: close"))
                    }
                    // Who does not wait is served too.
                    await connection.send(head + body)
                    let text = await connection.received(until: "ceremonyId", times: 3)
                    #expect(text.ranges(of: "HTTP/1.1 200 OK").count == 3, "\(text)")
                    await connection.close()
                }
            }
        }

        @Test(
            "what is refused by its header fields is refused at once, and nothing that follows is taken for a request",
            arguments: [false, true]
        )
        func refused(isSecure: Bool) async throws {
            try await Self.with(isSecure: isSecure) { _, ports in
                let json = "Content-Type: application/json\r\n"
                let length = "Content-Length: 2"
                for (port, isSecure, head, status) in [
                    (
                        ports.api, isSecure, Self.post("/v1/login/options", json + "Content-Length: 70000"),
                        413
                    ),
                    (
                        ports.api, isSecure,
                        Self.post("/v1/login/options", "Content-Type: text/plain\r\n" + length), 415
                    ),
                    (
                        ports.api, isSecure,
                        Self.post("/v1/login/options", json + "Content-Encoding: gzip\r\n" + length), 415
                    ),
                    (ports.api, isSecure, Self.post("/v1/credentials/options", json + length), 401),
                    (ports.api, isSecure, Self.post("/v1/token", json + length), 415),
                    (ports.api, isSecure, Self.post("/nowhere", json + length), 404),
                    (ports.api, isSecure, Self.post("/v1/me", json + length), 405),
                    (ports.admin, false, Self.post("/admin/v1/users", json + length), 401),
                    (
                        ports.api, isSecure,
                        Self.post("/v1/login/options", json + length).replacing("100-continue", with: "x"),
                        417
                    ),
                    (
                        ports.api, isSecure,
                        Self.post("/v1/login/options", json + length)
                            .replacing("100-continue", with: "100-continue, 100-continue"), 417
                    ),
                ] {
                    let connection = try await RawConnection(port: port, isSecure: isSecure)
                    await connection.send(head)
                    let text = await connection.received(until: "\"traceId\"")
                    #expect(text.hasPrefix("HTTP/1.1 \(status) "), "\(head): \(text)")
                    #expect(!text.contains("100 Continue"))
                    #expect(text.lowercased().contains("\r\nconnection: close\r\n"), "\(text)")
                    // In place of the body.
                    await connection.send("GET /.well-known/webauthn HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    #expect(await connection.closed(within: .seconds(60)) != nil, "\(head)")
                    #expect(connection.received.ranges(of: "HTTP/1.1 ").count == 1, "\(connection.received)")
                }
            }
        }

        @Test("an expectation without a body, or in HTTP/1.0, changes nothing")
        func withoutMeaning() async throws {
            try await Self.with(isSecure: false) { _, ports in
                for fields in ["", "Content-Length: 0\r\n"] {
                    let connection = try await RawConnection(port: ports.api)
                    let head =
                        "GET /.well-known/webauthn HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\(fields)\r\n"
                    await connection.send(head)
                    #expect(await connection.received(until: "origins").hasPrefix("HTTP/1.1 200 OK"))
                    await connection.send(head)
                    let text = await connection.received(until: "origins", times: 2)
                    #expect(text.ranges(of: "HTTP/1.1 200 OK").count == 2 && !text.contains("100 Continue"))
                    await connection.close()
                }
                let old = try await RawConnection(port: ports.api)
                let fields = "Content-Type: application/json\r\nContent-Length: 2"
                await old.send(Self.post("/v1/login/options", fields, version: "1.0") + "{")
                await old.send("}")
                #expect(await old.closed(within: .seconds(60)) != nil)
                #expect(old.received.hasPrefix("HTTP/1.1 200 OK"), "\(old.received)")
            }
        }

        @Test(
            "curl is asked for a body, sees a refusal before it sends one, and gets a head",
            arguments: [false, true]
        )
        func curl(isSecure: Bool) async throws {
            try await Self.with(isSecure: isSecure) { _, ports in
                func run(_ arguments: [String]) async throws -> (status: Int32, text: String) {
                    try await SystemProgram.run("curl", ["-svk", "--max-time", "60"] + arguments)
                }
                let base = "\(isSecure ? "https" : "http")://127.0.0.1:\(ports.api)"
                let fields = ["-H", "Expect: 100-continue", "-H", "Content-Type: application/json"]
                // So long that only an answer, not curl's own timer, ends the wait.
                let waiting = ["--expect100-timeout", "50"]
                let asked = try await run(fields + waiting + ["-d", "{}", base + "/v1/login/options"])
                #expect(asked.status == 0 && asked.text.contains("HTTP/1.1 100 Continue"), "\(asked.text)")
                #expect(asked.text.contains("HTTP/1.1 200 OK") && asked.text.contains("ceremonyId"))
                let big = String(repeating: " ", count: 70_000)
                let refused = try await run(fields + waiting + ["-d", big, base + "/v1/login/options"])
                #expect(refused.status == 0 && refused.text.contains("HTTP/1.1 413"), "\(refused.text)")
                #expect(!refused.text.contains("100 Continue"))
                let head = try await run(["-I", base + "/.well-known/webauthn"])
                #expect(head.status == 0 && head.text.contains("HTTP/1.1 200 OK"), "\(head.text)")
                // The only protocol of the ALPN list (RFC 7301), so that nobody speaks another.
                if isSecure { #expect(asked.text.contains("accepted http/1.1"), "\(asked.text)") }
            }
        }
    }
}
