import Foundation
import NIOHTTP1
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Audiences of access tokens")
    struct AudienceTests {
        private static let shop = "https://shop.example.org/v1"
        private static let books = "urn:example:books"
        private static let files = [
            "shop": "resource = \(shop)\nscopes = orders:read orders:write\naccess-token-lifetime = 60",
            "books": "resource = \(books)\nservices = shop librarian",
        ]
        private static let secrets = [
            "shop": String(repeating: "s", count: 40), "librarian": String(repeating: "l", count: 40),
        ]

        /// A server with two audiences: tokens for the shop are for the service `shop`, those for books for both services.
        private static func with(
            on database: ServerDatabase = .sqlite,
            _ body: (TestServer) async throws -> Void
        ) async throws {
            try await TestServer.with(on: database) { configuration in
                let folder = "\(configuration.dataDirectory)/services"
                try TestServer.write(secrets, to: folder)
                configuration.serviceSecretDirectory = folder
                try TestServer.write(audiences: files, to: configuration.dataDirectory)
            } _: { server in
                try await body(server)
            }
        }

        private static func introspect(_ server: TestServer, _ token: String, by service: String) async throws
            -> Answer
        {
            try await server.form("/v1/introspect", ["token": token], token: secrets[service])
        }

        @Test("a token opens its own door and no other", arguments: ServerDatabase.allCases)
        func doors(_ database: ServerDatabase) async throws {
            try await Self.with(on: database) { server in
                let user = try await TestUser.withPasskey(on: server)
                for (resource, services) in [
                    (nil, []), (Self.shop, ["shop"]), (Self.books, ["shop", "librarian"]),
                ] as [(String?, [String])] {
                    let token = if let resource { try await user.token(for: resource) } else { user.access }
                    for service in Self.secrets.keys {
                        let answer = try await Self.introspect(server, token, by: service)
                        #expect(answer.status == 200, "\(answer.text)")
                        if services.contains(service) {
                            #expect(answer["active"] == true && answer["aud"]?.string == resource)
                            #expect(answer["username"]?.string == user.name)
                        } else {
                            #expect(answer.json == ["active": false], "\(resource ?? "-") \(service)")
                        }
                    }
                    var holder = user
                    holder.access = token
                    let isOwn = resource == nil
                    for (method, path, body) in [
                        (.GET, "/v1/me", nil), (.GET, "/v1/sessions", nil), (.GET, "/v1/credentials", nil),
                        (.POST, "/v1/credentials/options", ["kind": "passkey"]),
                        (.POST, "/v1/attestation/ak", ["akPublic": "AAAA"]),
                        (.POST, "/v1/transactions", ["type": "x", "details": [:]]),
                        (.POST, "/v1/login/options", ["purpose": "reauth"]),
                        (.DELETE, "/v1/sessions?except=current", nil),
                        (.PUT, "/v1/me/password", ["new": "x"]),
                    ] as [(TestUser.HTTPMethodName, String, JSONValue?)] {
                        let answer = try await holder.call(method, path, body)
                        #expect(
                            (answer.code == "invalid_token") == !isOwn,
                            "\(resource ?? "-") \(method) \(path): \(answer.text)"
                        )
                        if !isOwn { #expect(answer.status == 401) }
                    }
                    let reauthentication: JSONValue = [
                        "username": .string(user.name), "password": .string(TestUser.password),
                        "purpose": "reauth",
                    ]
                    if !isOwn {
                        let answer = try await server.call(
                            .POST,
                            "/v1/login/password",
                            reauthentication,
                            token: token,
                            key: user.key
                        )
                        #expect(answer.code == "invalid_token", "\(answer.text)")
                    }
                }
            }
        }

        @Test("every sign-in and renewal gives a token for the asked resource with its scopes and lifetime")
        func grants() async throws {
            try await Self.with { server in
                let user = try await TestUser.withPasskey(on: server)
                func signIn(_ fields: [(String, String)]) async throws -> Answer {
                    let members = fields.map { ($0.0, JSONValue.string($0.1)) }
                    let password: [(String, JSONValue)] = [
                        ("username", .string(user.name)), ("password", .string(TestUser.password)),
                    ]
                    let body = JSONValue.object(JSONObject(password + members))
                    return try await server.call(.POST, "/v1/login/password", body)
                }
                func byPasskey(_ fields: [(String, String)]) async throws -> Answer {
                    let begun = try #require(try await user.passkeyBody(signCount: counter()).object).members
                    let members = fields.map { (name: $0.0, value: JSONValue.string($0.1)) }
                    return try await server.call(.POST, "/v1/login", .object(JSONObject(begun + members)))
                }
                var count: UInt32 = 2
                func counter() -> UInt32 {
                    count += 1
                    return count
                }
                func renew(_ fields: [(String, String)]) async throws -> Answer {
                    try await user.renew(audience: fields)
                }
                for ask in [signIn, byPasskey, renew] {
                    for (fields, scope, seconds) in [
                        ([("resource", Self.shop)], "orders:read orders:write", 60),
                        ([("resource", Self.shop), ("scope", "orders:write")], "orders:write", 60),
                        (
                            [("resource", Self.shop), ("scope", "orders:write orders:read  orders:write")],
                            "orders:write orders:read", 60
                        ),
                        ([("resource", Self.books)], "", 300),
                    ] as [([(String, String)], String, Int64)] {
                        let answer = try await ask(fields)
                        #expect(answer.status == 200, "\(answer.text)")
                        #expect(answer["scope"]?.string == scope && answer["expires_in"]?.integer == seconds)
                        let token = try #require(answer["access_token"]?.string)
                        let told = try await Self.introspect(server, token, by: "shop")
                        #expect(told["scope"]?.string == scope && told["aud"]?.string == fields[0].1)
                        let left = (told["exp"]?.integer ?? 0) - Int64(Date().timeIntervalSince1970)
                        #expect(left <= seconds && left > seconds - 60)
                    }
                    for (fields, code) in [
                        ([("resource", "https://shop.example.org")], "invalid_target"),
                        ([("resource", "\(Self.shop)/")], "invalid_target"),
                        ([("resource", Self.shop), ("scope", "orders:delete")], "invalid_scope"),
                        ([("resource", Self.shop), ("scope", "orders:read\u{0}")], "invalid_scope"),
                        ([("resource", Self.shop), ("scope", " ")], "invalid_scope"),
                        ([("resource", Self.books), ("scope", "orders:read")], "invalid_scope"),
                        ([("scope", "orders:read")], "invalid_scope"),
                    ] as [([(String, String)], String)] {
                        let answer = try await ask(fields)
                        #expect(answer.status == 400 && answer.code == code, "\(fields): \(answer.text)")
                        #expect(!answer.text.contains("ts_"))
                    }
                }
                // A session in cookies gets none: the browser would send it to this server with every request.
                let cookies = try await server.send(
                    .POST,
                    server.api + "/v1/login/password",
                    ["Origin": TestServer.origin],
                    (
                        Array(
                            """
                            {"username": "\(user.name)", "password": "\(TestUser.password)", "session": "cookie", \
                            "resource": "\(Self.books)"}
                            """.utf8
                        ), "application/json"
                    )
                )
                #expect(cookies.status == 400 && cookies.code == "invalid_target", "\(cookies.text)")
                let document = try await server.call(.GET, "/.well-known/oauth-authorization-server")
                #expect(document["scopes_supported"] == ["orders:read", "orders:write"])
            }
        }

        @Test(
            "a token for a resource ends with its session, with a step-up, by its revocation, and with its audience"
        )
        func ends() async throws {
            try await Self.with { server in
                func isActive(_ token: String) async throws -> Bool {
                    try await Self.introspect(server, token, by: "shop")["active"] == true
                }
                let user = try await TestUser.signedIn(on: server)
                let revoked = try await user.token(for: Self.shop)
                let other = try await user.token(for: Self.books)
                #expect(try await server.form("/v1/revoke", ["token": revoked]).status == 200)
                #expect(try await isActive(revoked) == false)
                #expect(try await isActive(other))
                #expect(try await user.call(.GET, "/v1/me").status == 200)
                let renewed = try await server.call(
                    .POST,
                    "/v1/login/password",
                    [
                        "username": .string(user.name), "password": .string(TestUser.password),
                        "purpose": "reauth", "resource": .string(Self.shop),
                    ],
                    token: user.access,
                    key: user.key
                )
                #expect(renewed.status == 200, "\(renewed.text)")
                var again = user
                try again.take(renewed)
                #expect(try await isActive(other) == false)
                #expect(try await isActive(again.access))
                // The account's API gets a token of its own.
                let own = try await again.renew()
                #expect(own["scope"] == nil)
                #expect(
                    try await server.call(.GET, "/v1/me", token: own["access_token"]?.string).status == 200
                )
                #expect(
                    try await server.call(.POST, "/v1/logout", token: own["access_token"]?.string).status
                        == 204
                )
                #expect(try await isActive(again.access) == false)

                let next = try await TestUser.signedIn(on: server, "berta")
                let (shop, books) = (
                    try await next.token(for: Self.shop), try await next.token(for: Self.books)
                )
                for token in [shop, books] { #expect(try await isActive(token)) }
                try TestServer.write(
                    audiences: ["books": "resource = \(Self.books)\nservices = librarian"],
                    to: server.configuration.dataDirectory
                )
                server.program.reload { () throws(ConfigurationFault) in server.configuration }
                for token in [shop, books] { #expect(try await isActive(token) == false) }
                #expect(try await Self.introspect(server, books, by: "librarian")["active"] == true)
                #expect(try await next.renew(audience: [("resource", Self.shop)]).code == "invalid_target")
            }
        }

        @Test("files of audiences that cannot work are refused by name and line")
        func files() async throws {
            try await TestServer.inDirectory { directory in
                let good = "resource = \(Self.shop)"
                for (files, word) in [
                    ([:], "each audience has one"), (["a b": good], "audience's name"),
                    (["a": ""], "has no resource"), (["a": "scopes = x"], "has no resource"),
                    (["a": "resource = shop.example.org"], "absolute URI"),
                    (["a": "resource = https://"], nil), (["a": "resource ="], "absolute URI"),
                    (["a": "resource = 1x:y"], "absolute URI"),
                    (["a": "resource = https://ü.org"], "absolute URI"),
                    (["a": "resource = x:\(String(repeating: "y", count: 255))"], "absolute URI"),
                    (["a": "\(good)\nscopes = a b a"], "twice"), (["a": "\(good)\nscopes = a\"b"], "a\"b"),
                    (["a": "\(good)\nscopes = \(String(repeating: "y", count: 65))"], "no scope"),
                    (["a": "\(good)\naccess-token-lifetime = 9"], "from 10 to 3600"),
                    (["a": "\(good)\ncolour = red"], "line 2: colour is no setting of an audience"),
                    (["a": good, "b": good], "one audience has one file"), (["a": good], nil),
                ] as [([String: String], String?)] {
                    try TestServer.write(audiences: files, to: directory)
                    var settings = ServerConfiguration(dataDirectory: directory)
                    settings.audienceDirectory = "\(directory)/audiences"
                    guard let word else {
                        _ = try Audiences(settings)
                        continue
                    }
                    let fault = #expect(throws: ConfigurationFault.self, "\(files)") {
                        try Audiences(settings)
                    }
                    #expect(fault?.description.contains(word) == true, "\(String(describing: fault))")
                }
            }
        }
    }
}
