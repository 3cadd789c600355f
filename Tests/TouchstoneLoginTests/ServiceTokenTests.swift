import Foundation
import LoopbackHTTP
import Testing
import Touchstone
import TouchstoneTesting
import WebAuthnModel

@testable import TouchstoneLogin

extension TenStepsTests {
    @Suite("Access tokens for services")
    struct ServiceTokenTests {
        private static let shop = "https://shop.example.org"
        private static let books = "https://books.example.org"
        private static let secret = String(repeating: "s", count: 40)

        /// A world with two services' audiences; the service `shop` introspects the tokens for both.
        private static func world(_ files: TemporaryDirectory) async throws -> LoginWorld {
            for (folder, name, text) in [
                ("services", "shop", secret),
                ("audiences", "shop", "resource = \(shop)\nscopes = read write"),
                ("audiences", "books", "resource = \(books)\nservices = shop"),
            ] {
                let directory = files.appending(folder)
                try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
                let path = "\(directory)/\(name)"
                try Data(text.utf8).write(to: URL(filePath: path))
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            }
            return try await LoginWorld(settings: [
                "service-secret-directory": files.appending("services"),
                "audience-directory": files.appending("audiences"),
            ])
        }

        /// What the server tells the service of a token.
        private static func introspect(_ world: LoginWorld, _ token: String) throws -> JSONObject {
            let answer = try world.server.api.send(
                "POST",
                "/v1/introspect",
                headers: [
                    "Content-Type": "application/x-www-form-urlencoded", "Authorization": "Bearer \(secret)",
                ],
                body: Array("token=\(token)".utf8)
            )
            return try #require(try JSONValue(parsing: answer.body).object)
        }

        @Test("each service gets a token of its own, which opens neither another service nor the account")
        func tokens() async throws {
            let files = try TemporaryDirectory()
            let world = try await Self.world(files)
            try await world.keychain.use {
                let session = try await world.session(world.login())
                let shop = try await session.accessToken(for: Self.shop)
                let reading = try await session.accessToken(for: Self.shop, scope: ["read"])
                let books = try await session.accessToken(for: Self.books)
                for (token, resource, scope) in [
                    (shop, Self.shop, "read write"), (reading, Self.shop, "read"), (books, Self.books, ""),
                ] {
                    let told = try Self.introspect(world, token)
                    #expect(told["active"] == true && told["aud"]?.string == resource, "\(told)")
                    #expect(told["scope"]?.string == scope && told["username"]?.string == SignInServer.user)
                    #expect(try world.call("GET", "/v1/me", token)["code"]?.string == "invalid_token")
                }
                // The account's own token says nothing to a service.
                let own = try await session.accessToken()
                #expect(try Self.introspect(world, own)["active"] == false)
                #expect(try await session.devices().isEmpty)
                // They are kept until they expire: no request is made for them.
                let count = world.relay.exchanges.count
                #expect(try await session.accessToken(for: Self.shop) == shop)
                #expect(try await session.accessToken(for: Self.shop, scope: ["read"]) == reading)
                #expect(world.relay.exchanges.count == count)
                for (resource, scope, cause) in [
                    ("https://unknown.example.org", [], "invalid_target"),
                    (Self.shop, ["delete"], "invalid_scope"),
                ] as [(String, [String], String)] {
                    let refused = await failure { () async throws(TouchstoneError) in
                        try await session.accessToken(for: resource, scope: scope)
                    }
                    #expect(refused?.code == .refused && refused?.cause == cause, "\(refused as Any)")
                }
            }
        }

        @Test("they end with the authentication that they are of: after a step-up there are new ones")
        func ends() async throws {
            let files = try TemporaryDirectory()
            let world = try await Self.world(files)
            try await world.keychain.use {
                let (session, _) = try await world.setUp(world.login())
                let shop = try await session.accessToken(for: Self.shop)
                let demand =
                    #"Bearer error="insufficient_user_authentication", acr_values="pwd", max_age=300"#
                try await session.stepUp(for: demand, password: SignInServer.password)
                #expect(try Self.introspect(world, shop)["active"] == false)
                let next = try await session.accessToken(for: Self.shop)
                #expect(next != shop)
                #expect(try Self.introspect(world, next)["active"] == true)
                // A session that another place ended.
                let access = try await session.accessToken()
                #expect(
                    try world.server.api.send(
                        "POST",
                        "/v1/logout",
                        headers: ["Authorization": "Bearer \(access)"]
                    ).status == 204
                )
                #expect(try Self.introspect(world, next)["active"] == false)
                for _ in 0..<2 {
                    let ended = await failure { () async throws(TouchstoneError) in
                        try await session.accessToken(for: Self.books)
                    }
                    #expect(ended == .sessionEnded && ended?.nextStep == .setUpAgain, "\(ended as Any)")
                }
                // A session that ends here.
                let other = try await world.session(world.login())
                _ = try await other.accessToken(for: Self.shop)
                try await other.signOut()
                let refused = await failure { () async throws(TouchstoneError) in
                    try await other.accessToken(for: Self.shop)
                }
                #expect(refused?.cause == "signedOut", "\(refused as Any)")
            }
        }
    }
}
