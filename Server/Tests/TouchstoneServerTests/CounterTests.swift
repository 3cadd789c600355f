import AccountStore
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Signature counters")
    struct CounterTests {
        /// What a passkey signs.
        enum Ceremony: CaseIterable {
            case named, nameless, reauthentication, transaction
        }

        private static let backedUp: AuthenticatorData.Flags = [
            .userPresent, .userVerified, .backupEligible, .backupState,
        ]

        /// Opens a ceremony; returns the request that ends it with an assertion of this counter.
        private func open(
            _ ceremony: Ceremony,
            _ user: TestUser,
            _ flags: AuthenticatorData.Flags
        ) async throws -> (UInt32) async throws -> Answer {
            guard ceremony != .transaction else {
                let made = try await user.call(.POST, "/v1/transactions", ["type": "x", "details": [:]])
                let id = try #require(made["id"]?.string, "\(made.text)")
                let challenge = try #require(made["publicKey"]?["challenge"]?.bytes)
                return { count in
                    try await user.call(
                        .POST,
                        "/v1/transactions/\(id)/approval",
                        ["credential": try user.assertion(challenge, signCount: count, flags: flags)]
                    )
                }
            }
            let begun =
                switch ceremony {
                case .named: try await user.options(["username": .string(user.name)])
                case .nameless, .transaction: try await user.options([:])
                case .reauthentication:
                    try await user.call(.POST, "/v1/login/options", ["purpose": "reauth"])
                }
            let challenge = try #require(begun["publicKey"]?["challenge"]?.bytes, "\(begun.text)")
            return { count in
                try await user.call(
                    .POST,
                    "/v1/login",
                    [
                        "ceremonyId": begun["ceremonyId"] ?? .null,
                        "credential": try user.assertion(challenge, signCount: count, flags: flags),
                    ]
                )
            }
        }

        @Test(
            "a counter that did not grow is refused; it suspends a passkey only where it must come from a copy",
            arguments: Ceremony.allCases,
            [
                (backedUp: false, late: false), (backedUp: false, late: true),
                (backedUp: true, late: false), (backedUp: true, late: true),
            ]
        )
        func counters(_ ceremony: Ceremony, _ state: (backedUp: Bool, late: Bool)) async throws {
            let flags = state.backedUp ? Self.backedUp : [.userPresent, .userVerified]
            try await TestServer.with { server in
                let user = try await TestUser.signedIn(on: server)
                #expect(try await user.register(flags: flags).status == 201)
                // Two tabs: what was begun first ends last.
                let early = state.late ? try await open(ceremony, user, flags) : nil
                let newer = try await open(.named, user, flags)
                #expect(try await newer(9).status == 200)
                let end = if let early { early } else { try await open(ceremony, user, flags) }
                let refused = try await end(state.backedUp ? 0 : 8)
                #expect(refused.status == 401 && refused.code == "authentication_failed", "\(refused.text)")
                let isCopy = !state.backedUp && !state.late
                let id = Base64URL.encode(user.authenticator.credentialId)
                let path = "/v1/credentials/\(id)"
                let credential = try await user.call(.GET, path)
                #expect(credential["suspended"]?.bool == isCopy)
                #expect(credential["signCount"]?.integer == 9)
                let audit = try await server.admin(.GET, "/users/\(user.id)/audit?count=1000").text
                #expect(audit.contains(isCopy ? "cloned_counter" : "counter_not_grown"))
                let next = try await user.logInByPasskey(signCount: 10)
                if isCopy {
                    #expect(next.status == 401 || next.status == 403, "\(next.text)")
                } else {
                    #expect(next.status == 200, "\(next.text)")
                    // Another factor has to sign in to restore it.
                    var byPasskey = user
                    try byPasskey.take(next)
                    let own = try await byPasskey.call(.POST, "\(path)/restore")
                    #expect(own.status == 403 && own.code == "forbidden", "\(own.text)")
                }
                let restored = try await user.call(.POST, "\(path)/restore")
                #expect(restored.status == 200 && restored["suspended"]?.bool == false, "\(restored.text)")
                // The next counter is the new beginning.
                let again = try await open(.nameless, user, flags)
                #expect(try await again(state.backedUp ? 0 : 1).status == 200)
                #expect(
                    try await server.admin(.POST, "/users/\(user.id)/credentials/\(id)/suspend").status == 200
                )
                #expect(try await user.call(.POST, "\(path)/restore").status == 403)
            }
        }

        @Test("a credential is restored only by a session that authenticated lately")
        func stale() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                #expect(try await user.logInByPasskey(signCount: 9).status == 200)
                #expect(try await user.logInByPasskey(signCount: 9).status == 401)
                try server.ageSessions()
                let id = Base64URL.encode(user.authenticator.credentialId)
                let answer = try await user.call(.POST, "/v1/credentials/\(id)/restore")
                #expect(answer.status == 401 && answer.code == "insufficient_user_authentication")
                var fresh = user
                try await fresh.signIn()
                #expect(try await fresh.call(.POST, "/v1/credentials/\(id)/restore").status == 200)
                #expect(try await fresh.call(.POST, "/v1/credentials/AAAA/restore").status == 404)
            }
        }
    }
}
