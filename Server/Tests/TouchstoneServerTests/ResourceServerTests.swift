import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOHTTP1
import RelyingParty
import ServiceLifecycle
import Synchronization
import Testing
import WebAuthnModel

@testable import ResourceServer
@testable import TouchstoneServer

// The guide's code, which a test compares.
struct Context: AccessTokenContext {
    var coreContext: CoreRequestContextStorage
    var accessToken: AccessToken?
    init(source: Source) { coreContext = .init(source: source) }
}

func routes(_ verifier: AccessTokenVerifier) -> Router<Context> {
    let router = Router(context: Context.self)
    router.group().add(middleware: AccessTokenMiddleware(verifier, .init(scope: ["orders:read"])))
        .get("orders") { _, context in "orders of \(context.accessToken?.subject ?? "")" }
    let strong = AccessTokenDemand(
        scope: ["orders:write"],
        authenticationClasses: ["phr"],
        maximumAge: .seconds(300)
    )
    router.group().add(middleware: AccessTokenMiddleware(verifier, strong))
        .post("payments") { _, _ in "paid" }
    return router
}

// End of the guide's code.

extension ServerTests {
    @Suite("Services that verify tokens: the guide's programs")
    struct ResourceServerTests {
        private static let secret = String(repeating: "s", count: 40)
        private static let shop = "https://shop.example.org"

        /// The settings of an account server whose address is the one that it says it has.
        private static func configuration(_ directory: String, _ ports: FreePorts) throws
            -> ServerConfiguration
        {
            var configuration = try TestServer.configuration(directory)
            configuration.listen.port = ports.api
            configuration.publicURL = "http://localhost:\(ports.api)"
            configuration.origins = [TestServer.origin]
            try TestServer.write(["shop": secret], to: "\(directory)/services")
            configuration.serviceSecretDirectory = "\(directory)/services"
            let common = "scopes = orders:read orders:write\nservices = shop\nformat = jwt\n"
            try TestServer.write(
                audiences: [
                    "shop": "resource = \(shop)\n\(common)access-token-lifetime = 3600",
                    "bound": "resource = urn:bound\n\(common)token-type = DPoP",
                    "other": "resource = urn:other\n\(common)",
                    "opaque": "resource = urn:opaque\nscopes = orders:read\nservices = shop",
                ],
                to: directory
            )
            return configuration
        }

        /// An account server, and a service beside it.
        private static func with(
            _ body: (TestServer, _ service: String) async throws -> Void
        ) async throws {
            try await TestServer.inDirectory { directory in
                let ports = try FreePorts()
                try await TestServer.with(try configuration(directory, ports)) { server in
                    try await serve(server.configuration.publicURL, shop, on: ports.admin) {
                        try await body(server, "http://127.0.0.1:\(ports.admin)")
                    }
                }
            }
        }

        /// A service's clock that a test moves.
        private final class MovedClock: Sendable {
            private let seconds = Mutex<Int64>(0)

            func move(by count: Int64) { seconds.withLock { $0 += count } }

            var clock: ServiceClock {
                ServiceClock(
                    wallTime: { self.seconds.withLock(\.self) + Int64(Date().timeIntervalSince1970) },
                    steadyTime: { .now + .seconds(self.seconds.withLock(\.self)) }
                )
            }
        }

        /// Runs the guide's service for `body`.
        private static func serve(
            _ issuer: String,
            _ audience: String,
            on port: Int,
            _ clock: MovedClock = MovedClock(),
            _ body: () async throws -> Void
        ) async throws {
            let verifier = AccessTokenVerifier(
                issuer: issuer,
                audience: audience,
                origin: "http://127.0.0.1:\(port)",
                client: .shared,
                clock: clock.clock
            )
            var logger = Logger(label: "service")
            logger.logLevel = .critical
            let (started, continuation) = AsyncStream.makeStream(of: Void.self)
            let application = Application(
                router: routes(verifier),
                configuration: .init(address: .hostname("127.0.0.1", port: port)),
                onServerRunning: { _ in continuation.finish() },
                logger: logger
            )
            let group = ServiceGroup(configuration: .init(services: [application], logger: logger))
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await group.run() }
                for await _ in started {}
                do { try await body() } catch {
                    await group.triggerGracefulShutdown()
                    throw error
                }
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }

        private static func send(
            _ server: TestServer,
            _ method: NIOHTTP1.HTTPMethod,
            _ url: String,
            _ authorization: String?,
            _ proofs: [String] = []
        ) async throws -> Answer {
            var headers = HTTPHeaders()
            if let authorization { headers.add(name: "Authorization", value: authorization) }
            for proof in proofs { headers.add(name: "DPoP", value: proof) }
            return try await server.send(method, url, headers)
        }

        @Test("the guide's code in Swift is this file's")
        func source() throws {
            let text = try String(contentsOfFile: #filePath, encoding: .utf8)
            let start = try #require(text.firstRange(of: "// The guide's code, which a test compares.\n"))
            let end = try #require(text.firstRange(of: "\n// End of the guide's code.\n"))
            #expect(
                try Guide.block(after: "<!-- swift -->") == String(text[start.upperBound..<end.lowerBound])
            )
        }

        @Test("the middleware lets in good tokens, and tells the others why by status and challenge")
        func middleware() async throws {
            try await Self.with { server, service in
                let user = try await TestUser.withPasskey(on: server)
                let token = try await user.token(for: Self.shop)
                func get(_ authorization: String?) async throws -> Answer {
                    try await Self.send(server, .GET, service + "/orders", authorization)
                }
                let good = try await get("Bearer \(token)")
                #expect(
                    good.status == 200 && good.text == "orders of \(user.id)",
                    "\(good.status) \(good.text)"
                )
                let writing = try #require(
                    try await user.renew(audience: [("resource", Self.shop), ("scope", "orders:write")])[
                        "access_token"
                    ]?
                    .string
                )
                var parts = token.split(separator: ".").map(String.init)
                parts[2] = Base64URL.encode([UInt8](repeating: 1, count: 64))
                for (authorization, status, challenge) in [
                    (nil, 401, "Bearer"), ("Basic x", 401, "Bearer"), ("Bearer", 401, "Bearer"),
                    ("Bearer x", 401, #"error="invalid_token""#),
                    ("Bearer \(user.access)", 401, #"error="invalid_token""#),
                    ("Bearer \(parts.joined(separator: "."))", 401, #"error="invalid_token""#),
                    (
                        "Bearer \(try TokenSigningKey().token(["aud": .string(Self.shop)]))", 401,
                        "invalid_token"
                    ),
                    ("Bearer \(try await user.token(for: "urn:other"))", 401, #"error="invalid_token""#),
                    ("Bearer \(try await user.token(for: "urn:opaque"))", 401, #"error="invalid_token""#),
                    ("DPoP \(token)", 401, #"error="invalid_token""#),
                    ("Bearer \(writing)", 403, #"error="insufficient_scope", scope="orders:read""#),
                ] {
                    let answer = try await get(authorization)
                    #expect(answer.status == status, "\(authorization ?? "-"): \(answer.status)")
                    let told = answer.headers.first(name: "WWW-Authenticate") ?? ""
                    #expect(told.contains(challenge), "\(authorization ?? "-"): \(told)")
                }
                // Step-up: the session is of the password.
                func pay(_ token: String) async throws -> Answer {
                    try await Self.send(server, .POST, service + "/payments", "Bearer \(token)")
                }
                let weak = try await pay(writing)
                let asked = weak.headers.first(name: "WWW-Authenticate") ?? ""
                #expect(weak.status == 401, "\(weak.status)")
                #expect(
                    asked.contains(#"insufficient_user_authentication", acr_values="phr", max_age=300"#),
                    "\(asked)"
                )
                var strong = user
                try strong.take(try await user.logInByPasskey())
                #expect(try await pay(strong.token(for: Self.shop)).text == "paid")
                // Revoked, but not known here until it expires; the server knows.
                #expect(try await server.form("/v1/revoke", ["token": token]).status == 200)
                #expect(try await get("Bearer \(token)").status == 200)
                let told = try await server.form("/v1/introspect", ["token": token], token: Self.secret)
                #expect(told.json == ["active": false])
            }
        }

        @Test("a bound token needs a new proof of its key for the request and the token")
        func proofs() async throws {
            try await Self.with { server, _ in
                let port = try FreePorts().api
                try await Self.serve(server.configuration.publicURL, "urn:bound", on: port) {
                    let site = "http://127.0.0.1:\(port)"
                    let user = try await TestUser.signedIn(on: server)
                    let token = try await user.token(for: "urn:bound")
                    let key = try #require(user.key)
                    func proof(
                        _ key: SoftProofKey,
                        _ path: String = "/orders",
                        method: String = "GET",
                        token: String?,
                        at time: Int64 = 0
                    ) throws -> String {
                        try key.proof(
                            server,
                            path,
                            method: method,
                            token: token,
                            issuedAt: Int64(Date().timeIntervalSince1970) + time,
                            origin: site
                        )
                    }
                    func get(_ proofs: [String], as type: String = "DPoP") async throws -> Answer {
                        try await Self.send(server, .GET, site + "/orders", "\(type) \(token)", proofs)
                    }
                    let good = try proof(key, token: token)
                    #expect(try await get([good]).text == "orders of \(user.id)")
                    for (proofs, type, code) in [
                        ([good], "DPoP", "invalid_dpop_proof"), ([], "DPoP", "invalid_dpop_proof"),
                        (
                            [try proof(key, token: token), try proof(key, token: token)], "DPoP",
                            "invalid_dpop_proof"
                        ),
                        ([try proof(SoftProofKey(), token: token)], "DPoP", "invalid_dpop_proof"),
                        ([try proof(key, token: nil)], "DPoP", "invalid_dpop_proof"),
                        ([try proof(key, token: "other")], "DPoP", "invalid_dpop_proof"),
                        ([try proof(key, "/payments", token: token)], "DPoP", "invalid_dpop_proof"),
                        ([try proof(key, method: "POST", token: token)], "DPoP", "invalid_dpop_proof"),
                        ([try proof(key, token: token, at: -90)], "DPoP", "invalid_dpop_proof"),
                        ([try proof(key, token: token, at: 90)], "DPoP", "invalid_dpop_proof"),
                        ([try proof(key, token: token)], "Bearer", "invalid_token"),
                        ([], "Bearer", "invalid_token"),
                    ] {
                        let answer = try await get(proofs, as: type)
                        #expect(answer.status == 401)
                        let told = answer.headers.first(name: "WWW-Authenticate") ?? ""
                        #expect(told.contains(code), "\(told)")
                    }
                }
            }
        }

        @Test("keys are fetched for a new one, kept while the server is away, and expired tokens are refused")
        func keys() async throws {
            try await TestServer.inDirectory { directory in
                let (ports, clock) = (try FreePorts(), MovedClock())
                let configuration = try Self.configuration(directory, ports)
                try await Self.serve(configuration.publicURL, Self.shop, on: ports.admin, clock) {
                    var (server, first) = (TestServer?.none, "")
                    func get(_ token: String) async throws -> Int {
                        let url = "http://127.0.0.1:\(ports.admin)/orders"
                        return try await Self.send(try #require(server), .GET, url, "Bearer \(token)").status
                    }
                    try await TestServer.with(configuration) { one in
                        server = one
                        let user = try await TestUser.signedIn(on: one)
                        first = try await user.token(for: Self.shop)
                        #expect(try await get(first) == 200)
                        // Another process of the server, which begins to sign.
                        var other = configuration
                        other.listen.port = 0
                        try await TestServer.with(other, adminToken: one.adminToken) { second in
                            let holder = TestUser(
                                server: second,
                                id: user.id,
                                name: user.name,
                                access: user.access,
                                refresh: user.refresh,
                                key: user.key
                            )
                            let token = try await holder.token(for: Self.shop)
                            clock.move(by: 2)
                            #expect(try await get(token) == 200)
                        }
                    }
                    // The server is away now, and the keys are to be fetched again: no fault of the client.
                    clock.move(by: 300)
                    #expect(try await get(first) == 200)
                    #expect(try await get(try TokenSigningKey().token(["aud": .string(Self.shop)])) == 503)
                    #expect(try await get(first) == 200)
                    // Beyond the lifetime and the clocks' difference.
                    clock.move(by: 3600)
                    #expect(try await get(first) == 401)
                    // A service that never reached its server does not let anybody in, and does not blame the client.
                    let port = try FreePorts().api
                    try await Self.serve("http://127.0.0.1:1", Self.shop, on: port) {
                        let answer = try await Self.send(
                            try #require(server),
                            .GET,
                            "http://127.0.0.1:\(port)/orders",
                            "Bearer \(first)"
                        )
                        #expect(answer.status == 503)
                    }
                }
            }
        }

        @Test("the guide's program in Python, and its command, as they are printed")
        func others() async throws {
            try await Self.with { server, _ in
                let user = try await TestUser.signedIn(on: server)
                let token = try await user.token(for: Self.shop)
                let program =
                    try Guide.block(after: "<!-- python -->")
                    .replacing("https://accounts.example.org", with: server.configuration.publicURL)
                    + "\nimport sys\nprint(claims(sys.argv[1], sys.argv[2])[\"sub\"])\n"
                func run(_ token: String, _ scope: String = "orders:read") async throws -> (
                    status: Int32, text: String
                ) {
                    try await SystemProgram.run("python3", ["-c", program, token, scope])
                }
                let good = try await run(token)
                #expect(good.status == 0 && good.text == "\(user.id)\n", "\(good.text)")
                for (token, scope, error) in [
                    (token, "orders:delete", "PermissionError"),
                    (try await user.token(for: "urn:bound"), "orders:read", "InvalidAudienceError"),
                    (String(token.dropLast(8)) + "AAAAAAAA", "orders:read", "InvalidSignatureError"),
                    (user.access, "orders:read", "DecodeError"),
                ] {
                    let bad = try await run(token, scope)
                    #expect(bad.status != 0 && bad.text.contains(error), "\(bad.text)")
                }
                let command = try Guide.block(after: "<!-- curl -->")
                    .replacing("https://accounts.example.org", with: server.configuration.publicURL)
                for (token, isActive) in [(token, true), (user.access, false)] {
                    let told = try await SystemProgram.run(
                        "python3",
                        [
                            "-c",
                            "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1], shell=True))",
                            command,
                        ],
                        environment: ["SECRET": Self.secret, "TOKEN": token]
                    )
                    #expect(told.status == 0 && told.text.contains(#""active":\#(isActive)"#), "\(told.text)")
                }
            }
        }
    }
}
