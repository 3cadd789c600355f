import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Sessions in cookies")
    struct SessionCookieTests {
        private static let json = "application/json"

        /// A browser's request, with cookies and the origin of the page that makes it.
        private func send(
            _ server: TestServer,
            _ method: NIOHTTP1.HTTPMethod,
            _ path: String,
            _ body: JSONValue? = nil,
            form: String? = nil,
            cookies: [String] = [],
            origin: String? = TestServer.origin
        ) async throws -> Answer {
            var headers = HTTPHeaders()
            if !cookies.isEmpty { headers.add(name: "Cookie", value: cookies.joined(separator: "; ")) }
            if let origin { headers.add(name: "Origin", value: origin) }
            let content =
                form.map { (Array($0.utf8), "application/x-www-form-urlencoded") }
                ?? body.map { (Array($0.text.utf8), Self.json) }
            return try await server.send(method, server.api + path, headers, content)
        }

        private func logIn(
            _ user: TestUser,
            _ more: [(String, JSONValue)] = [],
            cookies: [String] = [],
            origin: String? = TestServer.origin
        ) async throws -> Answer {
            try await send(
                user.server,
                .POST,
                "/v1/login/password",
                .object(
                    JSONObject(
                        [
                            ("username", .string(user.name)), ("password", .string(TestUser.password)),
                            ("session", "cookie"),
                        ] + more
                    )
                ),
                cookies: cookies,
                origin: origin
            )
        }

        /// `name=value` of each cookie set by a response.
        private func cookies(_ answer: Answer) -> [String] {
            answer.headers["Set-Cookie"].map { String($0.prefix { $0 != ";" }) }
        }

        @Test("the response has no token, and the cookies are host-only, Secure and HttpOnly")
        func attributes() async throws {
            try await TestServer.with {
                $0.publicURL = "https://login.example.org"
            } _: { server in
                let user = try await TestUser.make(on: server)
                let answer = try await logIn(user, origin: "https://login.example.org")
                #expect(answer.status == 200, "\(answer.text)")
                #expect(!answer.text.contains("ts_at_") && !answer.text.contains("ts_rt_"))
                let set = answer.headers["Set-Cookie"]
                #expect(set.count == 2)
                #expect(set[0].hasPrefix("__Host-touchstone-access=ts_at_"))
                #expect(set[0].hasSuffix("; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=300"))
                #expect(set[1].hasPrefix("__Host-touchstone-refresh=ts_rt_"))
                #expect(set[1].hasSuffix("; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=2592000"))
                #expect(answer.headers.first(name: "Cache-Control") == "no-store")
                // On localhost without TLS browsers accept neither the prefix nor the attribute.
                try await TestServer.with { server in
                    let user = try await TestUser.make(on: server)
                    let answer = try await logIn(user)
                    #expect(answer.headers["Set-Cookie"].allSatisfy { $0.hasPrefix("touchstone-") })
                    #expect(answer.headers["Set-Cookie"].allSatisfy { !$0.contains("Secure") })
                }
            }
        }

        @Test("cookies are issued, renewed and used only with the origin of a listed page")
        func origin() async throws {
            try await TestServer.with {
                $0.corsOrigins = ["https://app.example.org"]
            } _: { server in
                let user = try await TestUser.make(on: server)
                let others: [String?] = [
                    nil, "null", "https://evil.example", "http://localhost", "http://localhost:8081",
                    "https://localhost:8080", "http://localhost:8080.evil.example",
                ]
                for other in others {
                    let answer = try await logIn(user, origin: other)
                    #expect(answer.status == 403 && answer.code == "forbidden", "\(other ?? "none")")
                    #expect(answer.headers["Set-Cookie"] == [])
                }
                #expect(try await logIn(user, origin: "https://app.example.org").status == 200)
                let cookies = cookies(try await logIn(user))
                for other in others {
                    let renewal = try await send(
                        server,
                        .POST,
                        "/v1/token",
                        form: "grant_type=refresh_token",
                        cookies: cookies,
                        origin: other
                    )
                    #expect(renewal.status == 400 && renewal.code == "invalid_request")
                    #expect(renewal.headers["Set-Cookie"] == [])
                    let rename = try await send(
                        server,
                        .DELETE,
                        "/v1/sessions?except=current",
                        cookies: cookies,
                        origin: other
                    )
                    #expect(rename.status == 403 && rename.code == "forbidden", "\(other ?? "none")")
                }
                // Reads need no origin, and a token in a header cannot be forged by another page.
                #expect(
                    try await send(server, .GET, "/v1/me", cookies: cookies, origin: nil).status == 200
                )
                var bearer = user
                try await bearer.signIn()
                #expect(try await bearer.call(.DELETE, "/v1/sessions?except=current").status == 204)
            }
        }

        @Test(
            "each operation that changes something refuses cookies without a listed origin"
        )
        func everyOperation() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                let cookies = cookies(try await logIn(user))
                let operations = API.operations.filter {
                    $0.method != .get
                        && [.session, .fresh, .serviceOrSession, .openOrSession].contains($0.access)
                }
                #expect(operations.count >= 15)
                for operation in operations {
                    let path = operation.path.replacing("{id}", with: "AAAA")
                    for origin in [nil, "https://evil.example"] {
                        let answer = try await send(
                            server,
                            .init(rawValue: operation.method.rawValue),
                            path,
                            operation.method == .delete ? nil : [:],
                            cookies: cookies,
                            origin: origin
                        )
                        #expect(answer.status == 403 && answer.code == "forbidden", "\(operation.id)")
                    }
                }
                #expect(try await send(server, .GET, "/v1/me", cookies: cookies).status == 200)
            }
        }

        @Test("a session in cookies is used, renewed and ended, and its tokens rotate")
        func life() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                let first = cookies(try await logIn(user))
                func renew(_ cookies: [String]) async throws -> Answer {
                    try await send(
                        server,
                        .POST,
                        "/v1/token",
                        form: "grant_type=refresh_token",
                        cookies: cookies
                    )
                }
                let renewed = try await renew(first)
                #expect(renewed.status == 200 && !renewed.text.contains("ts_"), "\(renewed.text)")
                let second = cookies(renewed)
                #expect(second.count == 2 && Set(second).isDisjoint(with: first))
                let third = cookies(try await renew(second))
                #expect(try await send(server, .GET, "/v1/me", cookies: third).status == 200)
                let logout = try await send(server, .POST, "/v1/logout", cookies: third)
                #expect(logout.status == 204)
                #expect(logout.headers["Set-Cookie"].count == 2)
                #expect(
                    logout.headers["Set-Cookie"].allSatisfy {
                        $0.contains("=; ") && $0.hasSuffix("Max-Age=0")
                    }
                )
                #expect(try await send(server, .GET, "/v1/me", cookies: third).status == 401)
                #expect(try await renew(third).code == "invalid_grant")
                // An expired cookie does not prevent a new login.
                let again = try await logIn(user, cookies: third)
                #expect(again.status == 200)
                // Reuse of a stolen cookie ends the session.
                let stolen = cookies(again)
                let owners = cookies(try await renew(stolen))
                let next = cookies(try await renew(owners))
                #expect(try await renew(stolen).code == "invalid_grant")
                #expect(try await send(server, .GET, "/v1/me", cookies: next).status == 401)
            }
        }

        @Test("a duplicate, overlong or wrong-kind cookie is refused")
        func malformed() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                let good = cookies(try await logIn(user))
                let access = good[0]
                let refresh = good[1].split(separator: "=", maxSplits: 1)[1]
                for wrong in [
                    [access, access], ["touchstone-access=x", access], ["touchstone-access="],
                    ["touchstone-access=\(refresh)"], ["x=\(String(repeating: "x", count: 9000))", access],
                    [access.replacing("touchstone", with: "__Host-touchstone")],
                ] {
                    let answer = try await send(server, .GET, "/v1/me", cookies: wrong)
                    #expect(answer.status == 401 && answer.code == "invalid_token", "\(wrong)")
                }
                #expect(try await send(server, .GET, "/v1/me", cookies: ["a=b", access]).status == 200)
            }
        }

        @Test("the password renews the authentication of its own account's session only")
        func reauthentication() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                let stranger = try await TestUser.make(on: server, "berta")
                let first = cookies(try await logIn(user))
                let before = try await send(server, .GET, "/v1/me", cookies: first)
                try server.ageSessions()
                let stale = try await send(
                    server,
                    .POST,
                    "/v1/credentials/options",
                    ["kind": "passkey"],
                    cookies: first
                )
                #expect(stale.status == 401 && stale.code == "insufficient_user_authentication")
                let again = ("purpose", "reauth" as JSONValue)
                #expect(try await logIn(stranger, [again], cookies: first).status == 401)
                #expect(try await logIn(user, [again]).code == "invalid_token")
                let fresh = try await logIn(user, [again], cookies: first)
                #expect(fresh.status == 200, "\(fresh.text)")
                #expect(fresh["session_id"] == before["sessionId"])
                let audit = try await server.admin(.GET, "/users/\(user.id)/audit")["records"]?.array
                #expect(audit?.last?["event"] == "session_renewed" && audit?.last?["reason"] == "password")
                let second = cookies(fresh)
                #expect(try await send(server, .GET, "/v1/me", cookies: second)["sessions"] == 1)
                // A script that asks for readable tokens gets none, with either cookie.
                for cookie in second {
                    let asked = try await send(
                        server,
                        .POST,
                        "/v1/login/password",
                        [
                            "username": .string(user.name), "password": .string(TestUser.password),
                            "session": "tokens",
                        ],
                        cookies: [cookie]
                    )
                    #expect(asked.status == 200 && asked.headers["Set-Cookie"].count == 2)
                    #expect(asked["access_token"] == nil && !asked.text.contains("ts_"), "\(asked.text)")
                }
                // The previous tokens are invalid.
                #expect(try await send(server, .GET, "/v1/me", cookies: first).status == 401)
                let options = try await send(
                    server,
                    .POST,
                    "/v1/credentials/options",
                    ["kind": "passkey"],
                    cookies: second
                )
                #expect(options.status == 200)
            }
        }

        @Test("pages of listed origins can call the API, other origins get no CORS headers")
        func crossOrigin() async throws {
            try await TestServer.with {
                $0.corsOrigins = ["https://app.example.org"]
            } _: { server in
                func preflight(_ origin: String, _ path: String = "/v1/me") async throws -> Answer {
                    try await server.send(
                        .OPTIONS,
                        server.api + path,
                        ["Origin": origin, "Access-Control-Request-Method": "PATCH"]
                    )
                }
                let allowed = try await preflight("https://app.example.org")
                #expect(allowed.status == 204)
                #expect(
                    allowed.headers.first(name: "Access-Control-Allow-Origin") == "https://app.example.org"
                )
                #expect(allowed.headers.first(name: "Access-Control-Allow-Credentials") == "true")
                #expect(
                    allowed.headers.first(name: "Access-Control-Allow-Methods")?.contains("PATCH") == true
                )
                #expect(allowed.headers.first(name: "Access-Control-Allow-Headers")?.contains("DPoP") == true)
                #expect(allowed.headers["Vary"] == ["Origin"])
                for other in ["https://evil.example", "null", TestServer.origin] {
                    let answer = try await preflight(other)
                    #expect(answer.status == 405, "\(other)")
                    #expect(answer.headers["Access-Control-Allow-Origin"] == [])
                    #expect(answer.headers["Vary"] == ["Origin"])
                }
                // Errors are readable too.
                let error = try await send(server, .GET, "/v1/me", origin: "https://app.example.org")
                #expect(error.status == 401)
                #expect(error.headers.first(name: "Access-Control-Allow-Origin") == "https://app.example.org")
                let admin = try await server.send(
                    .GET,
                    "\(server.admin)/health/live",
                    ["Origin": "https://app.example.org"]
                )
                #expect(admin.headers["Access-Control-Allow-Origin"] == [])
            }
            try await TestServer.with { server in
                let answer = try await send(server, .GET, "/v1/me", origin: "https://app.example.org")
                #expect(answer.headers["Access-Control-Allow-Origin"] == [])
                #expect(answer.headers["Vary"] == [])
            }
        }

        @Test("the settings for pages are parsed, and an invalid origin is refused")
        func settings() throws {
            let environment = [
                "TOUCHSTONE_SERVER_ACCOUNT_PAGE": "off",
                "TOUCHSTONE_SERVER_CORS_ORIGINS": "https://app.example.org, http://localhost:3000",
            ]
            let read = try ServerConfiguration.read(file: nil, environment: environment)
            #expect(!read.accountPage)
            #expect(read.corsOrigins == ["https://app.example.org", "http://localhost:3000"])
            for wrong in ["*", "app.example.org", "https://app.example.org/", "https://app.example.org:443"] {
                #expect(throws: ConfigurationFault.self) {
                    try ServerConfiguration.read(
                        file: nil,
                        environment: ["TOUCHSTONE_SERVER_CORS_ORIGINS": wrong]
                    )
                }
            }
            #expect(throws: ConfigurationFault.self) {
                try ServerConfiguration.read(
                    file: nil,
                    environment: ["TOUCHSTONE_SERVER_ACCOUNT_PAGE": "yes"]
                )
            }
        }
    }
}
