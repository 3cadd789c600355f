import AccountStore
import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Tokens")
    struct TokenTests {
        @Test("a refresh token without a key rotates; using the old one again ends the session")
        func rotation() async throws {
            try await TestServer.with { server in
                var user = try await TestUser.signedIn(on: server, key: nil)
                let first = user
                let renewed = try await user.renew()
                #expect(renewed.status == 200, "\(renewed.text)")
                try user.take(renewed)
                #expect(user.refresh != first.refresh && user.access != first.access)
                #expect(try await user.call(.GET, "/v1/me").status == 200)
                // The successor is used, so the response did arrive: whoever has the old token stole it.
                try user.take(try await user.renew())
                let reused = try await first.renew()
                #expect(reused.status == 400 && reused.code == "invalid_grant")
                #expect(try await user.call(.GET, "/v1/me").status == 401)
                #expect(try await user.renew().code == "invalid_grant")
                let audit = try await server.admin(.GET, "/users/\(user.id)/audit").text
                #expect(audit.contains("authn_token_reuse"))
            }
        }

        @Test("after a lost response the old refresh token works once more")
        func grace() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.signedIn(on: server, key: nil)
                #expect(try await user.renew().status == 200)
                let again = try await user.renew()
                #expect(again.status == 200, "\(again.text)")
                var next = user
                try next.take(again)
                #expect(try await next.call(.GET, "/v1/me").status == 200)
            }
        }

        @Test(
            "a refresh token with a key rotates too, and needs a DPoP proof with the server's nonce, valid once"
        )
        func bound() async throws {
            try await TestServer.with { server in
                var user = try await TestUser.make(on: server)
                user.key = nil
                let device = SoftProofKey()
                try await user.signIn(dpop: try await device.freshProof(server, "/v1/login/password"))
                let path = "/v1/token"
                let bare = try await user.renew()
                #expect(bare.status == 400 && bare.code == "invalid_dpop_proof", "\(bare.text)")
                let withoutNonce = try await user.renew(dpop: device.proof(server, path))
                #expect(withoutNonce.status == 400 && withoutNonce.code == "use_dpop_nonce")
                let nonce = try #require(withoutNonce.headers.first(name: "DPoP-Nonce"))
                let proof = try device.proof(server, path, nonce: nonce)
                let renewed = try await user.renew(dpop: proof)
                #expect(renewed.status == 200, "\(renewed.text)")
                #expect(renewed["refresh_token"]?.string != user.refresh)
                #expect(renewed["refresh_bound"]?.bool == true)
                let replayed = try await user.renew(dpop: proof)
                #expect(replayed.status == 400 && replayed.code == "invalid_dpop_proof")
                let otherKey = try await user.renew(dpop: SoftProofKey().proof(server, path, nonce: nonce))
                #expect(otherKey.status == 400 && otherKey.code == "invalid_grant")
                for spoiled in [
                    try device.proof(server, "/v1/login", nonce: nonce),
                    try device.proof(server, path, method: "GET", nonce: nonce),
                    try device.proof(server, path, nonce: nonce, issuedAt: 1_000_000),
                    "x.y.z",
                ] {
                    let answer = try await user.renew(dpop: spoiled)
                    #expect(answer.status == 400 && answer.code == "invalid_dpop_proof")
                }
                let foreign = try await user.renew(
                    dpop: device.proof(server, path, nonce: "AAAAAAAAAAAAAAAAAAAAAA")
                )
                #expect(foreign.code == "use_dpop_nonce")
                // The response may have been lost: the former token works, by the same key, until its successor was used.
                let again = try await user.renew(dpop: device.proof(server, path, nonce: nonce))
                #expect(again.status == 200, "\(again.text)")
                var next = user
                try next.take(again)
                #expect(try await next.renew(dpop: device.proof(server, path, nonce: nonce)).status == 200)
                let reused = try await user.renew(dpop: device.proof(server, path, nonce: nonce))
                #expect(reused.status == 400 && reused.code == "invalid_grant")
                #expect(try await next.call(.GET, "/v1/me").status == 401)
                // A login's proof is accepted once, too.
                let login = try await device.freshProof(server, "/v1/login/password")
                #expect(try await user.logIn(dpop: login).status == 200)
                let twice = try await user.logIn(dpop: login)
                #expect(twice.status == 400 && twice.code == "invalid_dpop_proof", "\(twice.text)")
            }
        }

        @Test("errors have the form of RFC 6749")
        func errors() async throws {
            try await TestServer.with { server in
                for (form, error) in [
                    (["grant_type": "password"] as KeyValuePairs, "unsupported_grant_type"),
                    (["grant_type": "refresh_token"], "invalid_request"),
                    ([:], "invalid_request"),
                    (["grant_type": "refresh_token", "refresh_token": "ts_rt_none"], "invalid_grant"),
                ] {
                    let answer = try await server.form("/v1/token", form)
                    #expect(answer.status == 400 && answer["error"]?.string == error, "\(answer.text)")
                    #expect(answer.headers.first(name: "Content-Type") == "application/json")
                    #expect(answer.headers.first(name: "Cache-Control") == "no-store")
                }
                let twice = try await server.send(
                    .POST,
                    server.api + "/v1/token",
                    [:],
                    (Array("grant_type=refresh_token&grant_type=x".utf8), "application/x-www-form-urlencoded")
                )
                #expect(twice.status == 400 && twice["error"]?.string == "invalid_request")
                #expect(try await server.call(.POST, "/v1/token", [:]).status == 415)
            }
        }

        @Test("only a service can introspect tokens")
        func introspection() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.signedIn(on: server)
                let secret = TestServer.serviceSecret
                let refresh = try await server.form("/v1/introspect", ["token": user.refresh], token: secret)
                #expect(refresh["cnf"]?["jkt"]?.bytes?.count == 32)
                let token = try await user.token(for: TestServer.audience)
                let access = try await server.form("/v1/introspect", ["token": token], token: secret)
                #expect(access["active"]?.bool == true)
                #expect(access["sub"]?.string == user.id)
                #expect(access["acr"]?.string == "pwd")
                #expect(access["exp"]?.integer ?? 0 > 0)
                #expect(access["cnf"] == nil)
                let unknown = try await server.form("/v1/introspect", ["token": "x"], token: secret)
                #expect(unknown.json == ["active": false])
                for token in [nil, "wrong", user.access] {
                    let answer = try await server.form("/v1/introspect", ["token": user.access], token: token)
                    #expect(answer.status == 401 && answer["error"]?.string == "invalid_client")
                    #expect(answer.headers.contains(name: "WWW-Authenticate"))
                }
            }
        }

        @Test("revoking a token always succeeds; a refresh token ends its session")
        func revocation() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.signedIn(on: server)
                #expect(try await server.form("/v1/revoke", ["token": "unknown"]).status == 200)
                #expect(try await server.form("/v1/revoke", ["token": user.access]).status == 200)
                #expect(try await user.call(.GET, "/v1/me").status == 401)
                var next = user
                try next.take(try await user.renew())
                #expect(try await server.form("/v1/revoke", ["token": next.refresh]).status == 200)
                #expect(try await next.call(.GET, "/v1/me").status == 401)
                #expect(try await next.renew().code == "invalid_grant")
                #expect(try await server.form("/v1/revoke", [:]).status == 400)
            }
        }

        @Test("sessions are listed and ended: one, all others, the own one")
        func sessions() async throws {
            try await TestServer.with { server in
                let first = try await TestUser.signedIn(on: server)
                var second = first
                try await second.signIn()
                var third = first
                try await third.signIn()
                let list = try await first.call(.GET, "/v1/sessions")["sessions"]?.array ?? []
                #expect(list.count == 3)
                #expect(list.filter { $0["current"]?.bool == true }.count == 1)
                let own = try await second.call(.GET, "/v1/me")["sessionId"]?.string ?? ""
                #expect(try await first.call(.DELETE, "/v1/sessions/\(own)").status == 204)
                #expect(try await first.call(.DELETE, "/v1/sessions/\(own)").status == 404)
                #expect(try await second.call(.GET, "/v1/me").status == 401)
                #expect(try await first.call(.DELETE, "/v1/sessions").status == 400)
                #expect(try await first.call(.DELETE, "/v1/sessions?except=current").status == 204)
                #expect(try await third.call(.GET, "/v1/me").status == 401)
                #expect(try await first.call(.POST, "/v1/logout").status == 204)
                let gone = try await first.call(.GET, "/v1/me")
                #expect(gone.status == 401 && gone.code == "invalid_token")
                #expect(gone.headers.first(name: "WWW-Authenticate") == #"Bearer error="invalid_token""#)
                let bare = try await server.call(.GET, "/v1/me")
                #expect(bare.status == 401 && bare.headers.first(name: "WWW-Authenticate") == "Bearer")
            }
        }
    }
}
