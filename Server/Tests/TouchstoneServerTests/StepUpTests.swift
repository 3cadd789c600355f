import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Step-up")
    struct StepUpTests {
        /// Who ends a reauthentication that a session began.
        enum Ender: CaseIterable {
            case nobody, ownToken, otherSession, otherAccount, ownKey, otherKey

            var succeeds: Bool { self == .ownToken || self == .ownKey }
        }

        @Test(
            "a step-up ends only in the session that began it",
            arguments: Ender.allCases,
            ServerDatabase.allCases.flatMap { [($0, false), ($0, true)] }
        )
        func owner(_ ender: Ender, _ place: (database: ServerDatabase, isBound: Bool)) async throws {
            let isBound = place.isBound
            // A session that is bound to no key has no own one.
            if ender == .ownKey, !isBound { return }
            try await TestServer.with(on: place.database) { server in
                let key = SoftProofKey()
                let user = try await TestUser.withPasskey(on: server)
                var session = user
                session.key = nil
                let path = "/v1/login"
                let binding: String? = if isBound { try await key.freshProof(server, path) } else { nil }
                try session.take(try await session.logInByPasskey(dpop: binding))
                var second = user
                try await second.signIn()
                let stranger = try await TestUser.signedIn(on: server, "berta")
                let begun = try await session.call(.POST, "/v1/login/options", ["purpose": "reauth"])
                let challenge = try #require(begun["publicKey"]?["challenge"]?.bytes, "\(begun.text)")
                let token: String? =
                    switch ender {
                    case .nobody, .ownKey, .otherKey: nil
                    case .ownToken: session.access
                    case .otherSession: second.access
                    case .otherAccount: stranger.access
                    }
                let proof: String? =
                    switch ender {
                    case .ownKey: try await key.freshProof(server, path)
                    case .otherKey: try await SoftProofKey().freshProof(server, path)
                    default: nil
                    }
                let answer = try await server.call(
                    .POST,
                    path,
                    [
                        "ceremonyId": begun["ceremonyId"] ?? .null,
                        "credential": try user.assertion(challenge, signCount: 5),
                    ],
                    token: token,
                    dpop: proof
                )
                let audit = try await server.admin(.GET, "/users/\(user.id)/audit?count=1000").text
                if ender.succeeds {
                    #expect(answer.status == 200, "\(answer.text)")
                    #expect(try await session.call(.GET, "/v1/me").status == 401)
                } else {
                    #expect(answer.status == 401 && answer.code == "authentication_failed", "\(answer.text)")
                    #expect(!answer.text.contains("ts_"))
                    #expect(try await session.call(.GET, "/v1/me").status == 200)
                    #expect(audit.contains("other_session"))
                }
            }
        }

        @Test(
            "a step-up never lowers a session's class, and what is offered is at least as strong",
            arguments: ServerDatabase.allCases
        )
        func classes(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) { server in
                let user = try await TestUser.withPasskey(on: server)
                func offered(_ session: TestUser) async throws -> [String?]? {
                    try await session.call(.GET, "/v1/me")["stepUp"]?.array?.map(\.string)
                }
                func byPassword(_ session: TestUser) async throws -> Answer {
                    try await session.call(
                        .POST,
                        "/v1/login/password",
                        [
                            "username": .string(user.name), "password": .string(TestUser.password),
                            "purpose": "reauth",
                        ]
                    )
                }
                #expect(try await offered(user) == ["passkey", "password"])
                var strong = user
                try strong.take(try await user.logInByPasskey(signCount: 3))
                #expect(try await offered(strong) == ["passkey"])
                let refused = try await byPassword(strong)
                #expect(refused.status == 401 && refused.code == "insufficient_user_authentication")
                #expect(refused["acr_values"]?.string == "phrh phr", "\(refused.text)")
                #expect(try await strong.call(.GET, "/v1/me")["acr"] == "phr")
                var weak = user
                try weak.take(try await byPassword(user))
                #expect(try await weak.call(.GET, "/v1/me")["acr"] == "pwd")
                // A stronger authentication raises it.
                let begun = try await weak.call(.POST, "/v1/login/options", ["purpose": "reauth"])
                let challenge = try #require(begun["publicKey"]?["challenge"]?.bytes)
                try weak.take(
                    try await weak.call(
                        .POST,
                        "/v1/login",
                        [
                            "ceremonyId": begun["ceremonyId"] ?? .null,
                            "credential": try user.assertion(challenge, signCount: 4),
                        ]
                    )
                )
                #expect(try await weak.call(.GET, "/v1/me")["acr"] == "phr")
                #expect(try await offered(weak) == ["passkey"])
            }
        }
    }
}
