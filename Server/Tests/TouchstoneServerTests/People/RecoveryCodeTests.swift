import AccountStore
import Foundation
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Recovery codes of users")
    struct UserRecoveryCodeTests {
        @Test(
            "ten codes are shown once; each opens a limited session once; new ones end them",
            arguments: ServerDatabase.allCases
        )
        func use(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) { server in
                let user = try await TestUser.withPasskey(on: server)
                #expect(try await user.call(.GET, "/v1/me/recovery-codes").json == ["left": 0])
                let codes = try await user.makeCodes()
                #expect(codes.count == 10 && Set(codes).count == 10)
                let state = try await user.call(.GET, "/v1/me/recovery-codes")
                #expect(state["left"] == 10 && state["createdAt"]?.integer != nil)
                #expect(!state.text.contains(codes[0]))

                // As typed from paper.
                let typed = codes[0].lowercased().replacing("-", with: " ")
                let key = SoftProofKey()
                let recovered = try await server.recover("ANNA", typed, key: key)
                #expect(recovered.status == 200, "\(recovered.text)")
                #expect(recovered["task"] == "set_up" && recovered["amr"] == ["otp"])
                #expect(recovered["codesLeft"] == 9 && recovered["credentials"] == "keep")
                let limited = try user.inSession(recovered, key: key)
                #expect(try await limited.call(.GET, "/v1/sessions").code == "session_limited")
                #expect(try await limited.call(.POST, "/v1/me/recovery-codes").code == "session_limited")
                for _ in 0..<2 {
                    let again = try await server.recover("anna", codes[0])
                    #expect(again.status == 401 && again.code == "authentication_failed")
                }
                // The next attempt has to wait, as after a wrong password; the password itself does not.
                let waiting = try await server.recover("anna", codes[1])
                #expect(waiting.status == 429 && waiting.code == "too_many_attempts")
                #expect(try await user.logIn().status == 200)

                let next = try await user.makeCodes()
                #expect(Set(next).isDisjoint(with: codes))
                try await server.program.store.reset([LimitKey("recovery-code", "anna")])
                #expect(try await server.recover("anna", codes[1]).status == 401)
                try await server.program.store.reset([LimitKey("recovery-code", "anna")])
                #expect(try await server.recover("anna", next[0], "end")["codesLeft"] == 0)
                #expect(try await user.call(.GET, "/v1/me").status == 401)
                #expect(try await user.logIn().status == 401)
                let audit = try await server.audit(of: user.id)
                for event in [
                    "recovery_codes_created", "recovery_code_used keep", "recovery_code_used end",
                    "authn_login_fail no_recovery_code", "authn_login_fail_max recovery-code",
                    "credential_removed recovery",
                ] { #expect(audit.contains(event), "\(event)") }
                let all = try await server.admin(.GET, "/users/\(user.id)/audit?count=1000").text
                for code in codes + next { #expect(!all.contains(code)) }
            }
        }

        @Test(
            "codes are made in a fresh session only, and used with a choice and where the session can do something"
        )
        func requests() async throws {
            try await TestServer.with {
                $0.freshness = 1
            } _: { server in
                let user = try await TestUser.signedIn(on: server)
                let codes = try await user.makeCodes()
                let bare: JSONValue = ["username": "anna", "code": .string(codes[0])]
                let missing = try await server.call(.POST, "/v1/recovery", bare, key: SoftProofKey())
                #expect(missing.status == 400)
                #expect(missing["errors"]?.array?.first?["pointer"]?.string == "/credentials")
                #expect(try await server.recover("anna", codes[0], key: nil).code == "invalid_dpop_proof")
                // An access token alone does not make any.
                let shown = try await server.call(.POST, "/v1/me/recovery-codes", token: user.access)
                #expect(shown.status == 401 || shown.status == 400, "\(shown.text)")
                try server.ageSessions()
                let stale = try await user.call(.POST, "/v1/me/recovery-codes")
                #expect(stale.code == "insufficient_user_authentication")
                #expect(try await user.call(.GET, "/v1/me/recovery-codes")["left"] == 10)
                #expect(try await server.recover("anna", codes[0])["codesLeft"] == 9)
            }
        }

        @Test("of eight at once one gets in", arguments: ServerDatabase.allCases)
        func concurrently(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) { server in
                let user = try await TestUser.signedIn(on: server)
                let code = try await user.makeCodes()[0]
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<8 { group.addTask { try await server.recover("anna", code).status } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses.count { $0 == 200 } == 1, "\(statuses)")
                #expect(statuses.allSatisfy { [200, 401, 429].contains($0) }, "\(statuses)")
                #expect(try await user.call(.GET, "/v1/me/recovery-codes")["left"] == 9)
            }
        }

        @Test(
            "neither a name nor a lock can be found out: same response, same reads and writes",
            arguments: ServerDatabase.allCases
        )
        func enumeration(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) { server in
                let known = try await TestUser.signedIn(on: server)
                let codes = try await known.makeCodes()
                let locked = try await TestUser.signedIn(on: server, "locked")
                let own = try await locked.makeCodes()
                #expect(try await server.admin(.POST, "/users/\(locked.id)/lock").status == 200)
                _ = try await TestUser.make(on: server, "bare")
                var seen: Set<[Int]> = []
                for (name, code) in [
                    ("anna", own[0]), ("bare", own[0]), ("nobody", own[0]), ("nobody-else", "x"),
                    ("locked", codes[0]),
                ] {
                    let before = server.program.store.statistics
                    let answer = try await server.recover(name, code)
                    let after = server.program.store.statistics
                    #expect(answer.status == 401 && answer.code == "authentication_failed", "\(name)")
                    #expect(answer["detail"] == nil)
                    seen.insert([after.reads - before.reads, after.writes - before.writes])
                }
                #expect(seen.count == 1, "\(seen)")
                try await server.program.store.reset([LimitKey("recovery-code", "locked")])
                #expect(try await server.recover("locked", own[0]).code == "authentication_failed")
                // The refusal did not use the code up.
                #expect(try await server.admin(.POST, "/users/\(locked.id)/unlock").status == 200)
                try await server.program.store.reset([LimitKey("recovery-code", "locked")])
                #expect(try await server.recover("locked", own[0]).status == 200)
            }
        }
    }
}
