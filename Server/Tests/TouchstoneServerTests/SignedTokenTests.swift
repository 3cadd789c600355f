import AccountStore
import Crypto
import Foundation
import NIOHTTP1
import RelyingParty
import StoreTestKit
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Access tokens in the form of a JWT")
    struct SignedTokenTests {
        private static let shop = "https://shop.example.org/v1"
        private static let vault = "urn:example:vault"
        private static let files = [
            "shop":
                "resource = \(shop)\nscopes = orders:read orders:write\nformat = jwt\naccess-token-lifetime = 60",
            "vault": "resource = \(vault)\nservices = shop\nformat = jwt\ntoken-type = DPoP",
            "proven": "resource = urn:example:proven\nservices = shop\ntoken-type = DPoP",
        ]
        private static let secret = String(repeating: "s", count: 40)

        private static func configure(_ configuration: inout ServerConfiguration) throws {
            let folder = "\(configuration.dataDirectory)/services"
            try TestServer.write(["shop": secret], to: folder)
            configuration.serviceSecretDirectory = folder
            try TestServer.write(audiences: files, to: configuration.dataDirectory)
        }

        private static func introspect(_ server: TestServer, _ token: String) async throws -> Answer {
            try await server.form("/v1/introspect", ["token": token], token: secret)
        }

        private static func part(_ token: String, _ index: Int) throws -> JSONValue {
            let parts = token.split(separator: ".", omittingEmptySubsequences: false)
            return try JSONValue(parsing: try #require(Base64URL.decode(String(parts[index]))))
        }

        private static func keys(_ server: TestServer) async throws -> [JSONValue] {
            let answer = try await server.call(.GET, "/.well-known/jwks.json")
            #expect(
                answer.status == 200
                    && answer.headers.first(name: "Cache-Control")?.contains("max-age=300") == true
            )
            #expect(answer.headers.first(name: "Content-Type") == "application/jwk-set+json")
            return try #require(answer["keys"]?.array)
        }

        @Test(
            "its claims are what introspection says, its key is published, and it opens nothing here",
            arguments: ServerDatabase.allCases
        )
        func claims(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database, Self.configure) { server in
                #expect(try await Self.keys(server).isEmpty)
                let user = try await TestUser.withPasskey(on: server)
                let answers = [
                    try await user.renew(audience: [("resource", Self.shop), ("scope", "orders:read")]),
                    try await server.call(
                        .POST,
                        "/v1/login/password",
                        [
                            "username": .string(user.name), "password": .string(TestUser.password),
                            "resource": .string(Self.shop),
                        ]
                    ),
                    try await user.renew(audience: [("resource", Self.vault)]),
                ]
                for (answer, resource) in zip(answers, [Self.shop, Self.shop, Self.vault]) {
                    #expect(answer.status == 200, "\(answer.text)")
                    let isBound = resource == Self.vault
                    #expect(answer["token_type"]?.string == (isBound ? "DPoP" : "Bearer"))
                    let token = try #require(answer["access_token"]?.string)
                    let header = try Self.part(token, 0)
                    #expect(header["typ"]?.string == "at+jwt" && header["alg"]?.string == "ES256")
                    let keys = try await Self.keys(server)
                    #expect(keys.count == 1 && keys[0]["kid"] == header["kid"] && keys[0]["d"] == nil)
                    let claims = try Self.part(token, 1)
                    let told = try await Self.introspect(server, token)
                    #expect(told["active"] == true)
                    for name in ["iss", "sub", "aud", "sid", "acr", "amr", "auth_time", "cnf"] {
                        #expect(claims[name] == told[name], "\(name)")
                    }
                    // A store has milliseconds, a claim seconds.
                    #expect(claims["exp"] == told["exp"])
                    #expect(claims["scope"]?.string ?? "" == told["scope"]?.string)
                    #expect(claims["iss"]?.string == server.configuration.publicURL)
                    #expect(claims["client_id"]?.string?.isEmpty == false && claims["jti"]?.string != nil)
                    #expect((claims["cnf"] != nil) == isBound)
                    if let bound = claims["cnf"]?["jkt"]?.bytes {
                        #expect(bound == user.key?.thumbprint)
                    }
                    let seconds = (claims["exp"]?.integer ?? 0) - (claims["iat"]?.integer ?? 0)
                    #expect(seconds == (isBound ? 300 : 60))
                    for path in ["/v1/me", "/v1/sessions"] {
                        #expect(try await server.call(.GET, path, token: token).code == "invalid_token")
                    }
                }
            }
        }

        @Test("it ends for services that ask with its session, its revocation and its audience")
        func ends() async throws {
            try await TestServer.with(Self.configure) { server in
                let user = try await TestUser.signedIn(on: server)
                let tokens = [
                    try await user.token(for: Self.shop), try await user.token(for: Self.shop),
                    try await user.token(for: Self.vault),
                ]
                func active() async throws -> [Bool] {
                    var active: [Bool] = []
                    for token in tokens {
                        active.append(try await Self.introspect(server, token)["active"] == true)
                    }
                    return active
                }
                #expect(try await active() == [true, true, true])
                #expect(try await server.form("/v1/revoke", ["token": tokens[0]]).status == 200)
                #expect(try await active() == [false, true, true])
                let rest = Self.files.filter { $0.key != "vault" }
                try TestServer.write(audiences: rest, to: server.configuration.dataDirectory)
                server.program.reload { () throws(ConfigurationFault) in server.configuration }
                #expect(try await active() == [false, true, false])
                // Reloading keeps the key.
                #expect(try await Self.keys(server).count == 1)
                _ = try await user.token(for: Self.shop)
                #expect(try await Self.keys(server).count == 1)
                #expect(try await user.call(.POST, "/v1/logout").status == 204)
                #expect(try await active() == [false, false, false])
            }
        }

        @Test("a changed or forged one is not active, and revokes nothing")
        func forged() async throws {
            try await TestServer.with(Self.configure) { server in
                let user = try await TestUser.signedIn(on: server)
                let token = try await user.token(for: Self.shop)
                let parts = token.split(separator: ".").map(String.init)
                let header = try Self.part(token, 0)
                let claims = try Self.part(token, 1)
                let kid = try #require(header["kid"]?.string)
                func encoded(_ value: JSONValue) -> String { Base64URL.encode(Array(value.text.utf8)) }
                func changed(_ value: JSONValue, _ name: String, _ other: JSONValue) -> JSONValue {
                    .object(
                        JSONObject(
                            (value.object?.members ?? []).map {
                                ($0.name, $0.name == name ? other : $0.value)
                            }
                        )
                    )
                }
                let other = P256.Signing.PrivateKey()
                func signed(_ header: JSONValue, _ claims: JSONValue) throws -> String {
                    let text = "\(encoded(header)).\(encoded(claims))"
                    let signature = try other.signature(for: Array(text.utf8))
                    return "\(text).\(Base64URL.encode(Array(signature.rawRepresentation)))"
                }
                let otherKey = TokenSigningKey()
                var cases = [
                    // Another's key under the name of ours, and under its own.
                    try signed(header, claims), try otherKey.token(claims),
                    // Claims, headers and signatures of others.
                    "\(parts[0]).\(encoded(changed(claims, "scope", "orders:delete"))).\(parts[2])",
                    "\(parts[0]).\(encoded(changed(claims, "sub", "AAAA"))).\(parts[2])",
                    "\(encoded(changed(header, "typ", "JWT"))).\(parts[1]).\(parts[2])",
                    "\(encoded(changed(header, "alg", "none"))).\(parts[1]).",
                    "\(encoded(["alg": "none", "typ": "at+jwt", "kid": .string(kid)])).\(parts[1]).\(parts[2])",
                    "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])", "\(token).", ".\(token)",
                    token + String(repeating: "A", count: 10_000),
                ]
                let signature = try #require(Base64URL.decode(parts[2]))
                for index in [0, 31, 32, 63] {
                    var bytes = signature
                    bytes[index] ^= 1
                    cases.append("\(parts[0]).\(parts[1]).\(Base64URL.encode(bytes))")
                }
                for text in cases {
                    #expect(try await Self.introspect(server, text).json == ["active": false], "\(text)")
                    #expect(try await server.form("/v1/revoke", ["token": text]).status == 200)
                }
                #expect(try await Self.introspect(server, token)["active"] == true)
                // The identifier alone, as a token.
                let identifier = try #require(claims["jti"]?.string)
                for text in [identifier, "ts_at_\(identifier)"] {
                    #expect(try await Self.introspect(server, text).json == ["active": false])
                }
            }
        }

        @Test(
            "a token that is bound to a key is not given to a session without one, and nothing is lost by asking"
        )
        func unbound() async throws {
            try await TestServer.with(Self.configure) { server in
                for resource in [Self.vault, "urn:example:proven"] {
                    let user = try await TestUser.signedIn(on: server, "user-\(resource.suffix(6))", key: nil)
                    let password: [(name: String, value: JSONValue)] = [
                        ("username", .string(user.name)), ("password", .string(TestUser.password)),
                        ("resource", .string(resource)),
                    ]
                    func signIn(_ more: [(name: String, value: JSONValue)], key: SoftProofKey? = nil)
                        async throws
                        -> Answer
                    {
                        try await server.call(
                            .POST,
                            "/v1/login/password",
                            .object(JSONObject(password + more)),
                            token: more.isEmpty ? nil : user.access,
                            key: key
                        )
                    }
                    let key = SoftProofKey()
                    for answer in [
                        try await signIn([]), try await signIn([("purpose", "reauth")]),
                        // A proof, but of a session that began without.
                        try await signIn([("purpose", "reauth")], key: key),
                        try await user.renew(audience: [("resource", resource)]),
                        try await server.form(
                            "/v1/token",
                            [
                                ("grant_type", "refresh_token"), ("refresh_token", user.refresh),
                                ("resource", resource),
                            ],
                            key: key
                        ),
                    ] {
                        #expect(answer.status == 400 && answer.code == "invalid_dpop_proof", "\(answer.text)")
                        #expect(!answer.text.contains("eyJ") && !answer.text.contains("ts_"))
                    }
                    #expect(try await user.call(.GET, "/v1/me").status == 200)
                    #expect(try await user.renew().status == 200)
                    let bound = try await signIn([], key: key)
                    #expect(bound["token_type"]?.string == "DPoP", "\(bound.text)")
                    let told = try await Self.introspect(server, try #require(bound["access_token"]?.string))
                    #expect(
                        told["token_type"]?.string == "DPoP" && told["cnf"]?["jkt"]?.bytes == key.thumbprint
                    )
                }
            }
        }

        @Test(
            "servers on one store publish each other's keys, also of those that ended",
            arguments: ServerDatabase.allCases
        )
        func servers(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database, Self.configure) { one in
                let user = try await TestUser.signedIn(on: one)
                var tokens = [try await user.token(for: Self.shop)]
                for count in 2...3 {
                    try await TestServer.with(one.configuration, adminToken: one.adminToken) { two in
                        let other = TestUser(
                            server: two,
                            id: user.id,
                            name: user.name,
                            access: user.access,
                            refresh: user.refresh,
                            key: user.key
                        )
                        tokens.append(try await other.token(for: Self.shop))
                        for server in [one, two] {
                            let published = Set(try await Self.keys(server).compactMap { $0["kid"]?.string })
                            #expect(published.count == count)
                            for token in tokens {
                                #expect(published.contains(try Self.part(token, 0)["kid"]?.string ?? ""))
                                #expect(try await Self.introspect(server, token)["active"] == true)
                            }
                        }
                    }
                }
                #expect(try await Self.keys(one).count == 3)
            }
        }

        @Test(
            "PyJWT, as Debian has it, verifies a token by the published keys, and refuses it for another audience"
        )
        func stock() async throws {
            try await TestServer.with(Self.configure) { server in
                let user = try await TestUser.signedIn(on: server)
                let token = try await user.token(for: Self.shop)
                let script = """
                    import sys, jwt
                    keys, issuer, audience, token = sys.argv[1:]
                    client = jwt.PyJWKClient(keys)
                    key = client.get_signing_key_from_jwt(token).key
                    claims = jwt.decode(token, key, algorithms=["ES256"], issuer=issuer, audience=audience,
                                        options={"require": ["exp", "iat", "sub", "jti", "client_id"]})
                    assert jwt.get_unverified_header(token)["typ"] == "at+jwt"
                    print(claims["sub"], claims["scope"])
                    """
                func verify(_ audience: String) async throws -> (status: Int32, text: String) {
                    try await SystemProgram.run(
                        "python3",
                        [
                            "-c", script, "\(server.api)/.well-known/jwks.json",
                            server.configuration.publicURL,
                            audience,
                            token,
                        ]
                    )
                }
                let good = try await verify(Self.shop)
                #expect(
                    good.status == 0 && good.text == "\(user.id) orders:read orders:write\n",
                    "\(good.text)"
                )
                let bad = try await verify(Self.vault)
                #expect(bad.status != 0 && bad.text.contains("InvalidAudienceError"), "\(bad.text)")
            }
        }
    }
}
