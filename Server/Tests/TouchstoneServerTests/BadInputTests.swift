import AccountStore
import AsyncHTTPClient
import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Bad input")
    struct BadInputTests {
        private static let json = "application/json"

        private static func corpus() -> [(name: String, body: [UInt8], status: Int)] {
            let deep = String(repeating: "[", count: 20_000) + String(repeating: "]", count: 20_000)
            let nine = #"{"a":"# + String(repeating: "[", count: 8) + String(repeating: "]", count: 8) + "}"
            let big = #"{"username":""# + String(repeating: "x", count: 70_000) + #""}"#
            return [
                ("empty", [], 400), ("no JSON", Array("hello".utf8), 400),
                ("an array", Array("[]".utf8), 400),
                ("a number", Array("5".utf8), 400), ("half", Array(#"{"username":"a"#.utf8), 400),
                ("trailing", Array("{}{}".utf8), 400), ("deep", Array(deep.utf8), 400),
                ("nine deep", Array(nine.utf8), 400),
                ("twice", Array(#"{"username":"a","username":"b","password":"c"}"#.utf8), 400),
                ("no UTF-8", Array(#"{"username":""#.utf8) + [0xFF, 0xFE] + Array(#""}"#.utf8), 400),
                ("half a pair", Array(#"{"username":"\ud800","password":"x"}"#.utf8), 400),
                ("byte order mark", [0xEF, 0xBB, 0xBF] + Array("{}".utf8), 400),
                (
                    "huge number",
                    Array(("{\"username\":1" + String(repeating: "0", count: 60_000) + "}").utf8), 400
                ),
                ("big", Array(big.utf8), 413), ("zeros", [UInt8](repeating: 0, count: 200_000), 413),
            ]
        }

        @Test("any malformed body gets a client error, soon")
        func corpus() async throws {
            try await TestServer.with {
                $0.selfRegistration = true
            } _: { server in
                let paths = API.operations.filter {
                    $0.method == .post && [.open, .openOrSession].contains($0.access) && !$0.hasOAuthErrors
                }
                .map { $0.path.replacing("{id}", with: "AAAA") }
                #expect(paths.count == 7)
                for path in paths {
                    for (name, body, status) in Self.corpus() {
                        let start = ContinuousClock.now
                        let answer = try await server.send(.POST, server.api + path, [:], (body, Self.json))
                        if path != "/v1/login/options" || !["trailing"].contains(name) {
                            #expect(answer.status == status, "\(path) \(name): \(answer.text.prefix(200))")
                        }
                        #expect(answer.headers.first(name: "Content-Type") == "application/problem+json")
                        #expect(answer["code"]?.string != nil && answer["traceId"]?.string?.count == 32)
                        // Parsing takes about a millisecond; the bound allows for a busy machine.
                        #expect(ContinuousClock.now - start < .seconds(20), "\(name)")
                    }
                }
            }
        }

        @Test("all invalid members are named, by JSON pointers")
        func pointers() async throws {
            try await TestServer.with { server in
                for (path, body, expected) in [
                    (
                        "/v1/login/password",
                        ["username": 5, "password": [], "client": "a\u{7}"] as JSONValue,
                        ["/username", "/password", "/client"]
                    ),
                    ("/v1/login/password", [:], ["/username", "/password"]),
                    ("/v1/login", ["ceremonyId": "!", "credential": 5], ["/ceremonyId", "/credential"]),
                    (
                        "/v1/login", ["ceremonyId": "AAAAAAAAAAAAAAAAAAAAAAAA", "credential": [:]],
                        ["/credential"]
                    ),
                    ("/v1/login/options", ["username": [:], "purpose": "dance"], ["/username", "/purpose"]),
                ] {
                    let answer = try await server.call(.POST, path, body)
                    #expect(answer.status == 400 && answer.code == "invalid_request")
                    let pointers = answer["errors"]?.array?.compactMap { $0["pointer"]?.string } ?? []
                    #expect(Set(pointers) == Set(expected), "\(answer.text)")
                }
            }
        }

        @Test("unknown media types, encodings, methods and paths are refused with their status")
        func protocols() async throws {
            try await TestServer.with { server in
                let url = server.api + "/v1/login/options"
                let body = Array("{}".utf8)
                let type = try await server.send(.POST, url, [:], (body, "text/plain"))
                #expect(type.status == 415 && type.code == "unsupported_media_type")
                let encoding = try await server.send(
                    .POST,
                    url,
                    ["Content-Encoding": "gzip"],
                    (body, Self.json)
                )
                #expect(encoding.status == 415)
                #expect(
                    try await server.send(.POST, url, [:], (body, "application/json; charset=utf-8")).status
                        == 200
                )
                let method = try await server.send(.GET, url)
                #expect(method.status == 405 && method.headers.first(name: "Allow") == "POST")
                let unknown = try await server.send(.GET, server.api + "/v2/none")
                #expect(unknown.status == 404 && unknown.code == "not_found")
                for path in [
                    "/v1/credentials/%00", "/v1/sessions/..%2f",
                    "/v1/credentials/" + String(repeating: "A", count: 3000),
                ] {
                    let user = try await server.call(.GET, path)
                    #expect([401, 404, 405].contains(user.status), "\(path)")
                }
                let fields = try await server.send(
                    .GET,
                    server.api + "/v1/me",
                    ["X-Long": String(repeating: "x", count: 20_000)]
                )
                #expect([400, 431].contains(fields.status))
            }
        }

        @Test("every response has the security and caching headers")
        func fields() async throws {
            try await TestServer.with { server in
                for answer in [
                    try await server.call(.GET, "/v1/me"),
                    try await server.call(.POST, "/v1/login/options", [:]),
                    try await server.call(.GET, "/none"),
                    try await server.call(.GET, "/health/live", isAdmin: true),
                ] {
                    #expect(answer.headers.first(name: "Cache-Control") == "no-store")
                    #expect(answer.headers.first(name: "X-Content-Type-Options") == "nosniff")
                    #expect(
                        answer.headers.first(name: "Content-Security-Policy")?.contains("default-src 'none'")
                            == true
                    )
                    #expect(answer.headers.first(name: "Referrer-Policy") == "no-referrer")
                    #expect(answer.headers.first(name: "X-Request-Id")?.count == 32)
                    #expect(!answer.headers.contains(name: "Strict-Transport-Security"))
                }
                let trace = "0af7651916cd43dd8448eb211c80319c"
                let traced = try await server.send(
                    .GET,
                    server.api + "/v1/me",
                    ["traceparent": "00-\(trace)-b7ad6b7169203331-01"]
                )
                #expect(traced["traceId"]?.string == trace)
                #expect(traced.headers.first(name: "X-Request-Id") == trace)
                for spoiled in [
                    "00-ZZ-b7-01", "x", "00-\(String(repeating: "0", count: 32))-b7ad6b7169203331-01",
                ] {
                    let answer = try await server.send(.GET, server.api + "/v1/me", ["traceparent": spoiled])
                    #expect(answer["traceId"]?.string?.count == 32 && answer["traceId"]?.string != trace)
                }
            }
        }

        @Test("Host and forwarding headers are ignored unless the proxy is trusted")
        func proxies() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                let headers: HTTPHeaders = ["Host": "evil.example", "X-Forwarded-For": "203.0.113.9"]
                let metadata = try await server.send(
                    .GET,
                    server.api + "/.well-known/oauth-authorization-server",
                    headers
                )
                #expect(metadata["issuer"]?.string == "http://localhost:8080")
                let body: JSONValue = ["username": .string(user.name), "password": "wrong wrong"]
                _ = try await server.send(
                    .POST,
                    server.api + "/v1/login/password",
                    headers,
                    (Array(body.text.utf8), Self.json)
                )
                #expect(!(try await server.admin(.GET, "/audit?count=1000").text.contains("203.0.113.9")))
            }
            try await TestServer.with {
                $0.trustedProxies = ["127.0.0.1", "10.0.0.0/8"].compactMap { IPNetwork($0) }
            } _: { server in
                let body: JSONValue = ["username": "nobody", "password": "wrong wrong"]
                _ = try await server.send(
                    .POST,
                    server.api + "/v1/login/password",
                    ["X-Forwarded-For": "198.51.100.1, 203.0.113.9, 10.0.0.1"],
                    (Array(body.text.utf8), Self.json)
                )
                let audit = try await server.admin(.GET, "/audit?count=1000").text
                #expect(audit.contains("203.0.113.9") && !audit.contains("198.51.100.1"))
            }
        }
    }
}
