import AccountStore
import Foundation
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Export and deletion of the own account")
    struct OwnAccountTests {
        @Test(
            "the export has all that is kept, of nobody else, and no secret",
            arguments: ServerDatabase.allCases
        )
        func export(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) { server in
                let user = try await TestUser.withPasskey(on: server)
                let other = try await TestUser.withPasskey(on: server, "berta")
                let codes = try await user.makeCodes()
                let made = try await user.call(
                    .POST,
                    "/v1/transactions",
                    ["type": "consent", "details": ["scope": "all"]]
                )
                let transaction = try #require(made["id"]?.string)
                #expect(
                    try await user.call(.POST, "/v1/transactions/\(transaction)/rejection").status == 200
                )
                let export = try await user.call(.GET, "/v1/account/export")
                #expect(export.status == 200, "\(export.text)")
                #expect(export["account"]?["username"] == "anna" && export["next"] == nil)
                #expect(export["credentials"]?.array?.count == 1 && export["sessions"]?.array?.count == 1)
                #expect(export["recoveryCodes"] == 10)
                #expect(export["transactions"]?.array?.map { $0["status"] } == ["rejected"])
                #expect(export["hasOlderTransactions"] == false)
                let records = export["audit"]?.array ?? []
                let events = records.compactMap { $0["event"]?.string }
                #expect(events.first == "user_created" && events.contains("transaction_rejected"))
                // Of the administrator neither the name nor the address.
                #expect(records.first?["byAdministrator"] == true && records.first?["address"] == nil)
                #expect(records.last?["byAdministrator"] == false && records.last?["address"] != nil)
                for text in [
                    "$scrypt$", "\"first\"", user.access, user.refresh, server.adminToken, codes[0],
                    "berta", other.id,
                ] { #expect(!export.text.contains(text), "\(text)") }
                let rest = try await user.call(.GET, "/v1/account/export?after=\(records.count)")
                #expect(rest["audit"] == [])
                #expect(try await user.call(.GET, "/v1/account/export?after=x").status == 400)
                #expect(try await server.call(.GET, "/v1/account/export").status == 401)
            }
        }

        @Test(
            "the account is deleted after a recent sign-in and by its name; sessions, tokens and passkeys end",
            arguments: ServerDatabase.allCases
        )
        func delete(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) { server in
                let user = try await TestUser.withPasskey(on: server)
                let other = try await TestUser.withPasskey(on: server, "berta")
                let codes = try await user.makeCodes()
                let link = try await server.link(user.id)
                let service = try await user.token(for: TestServer.audience)
                for name in ["berta", "ann", " anna", "anna\u{0}"] {
                    let wrong = try await user.call(
                        .DELETE,
                        "/v1/account",
                        ["username": .string(name)]
                    )
                    #expect(wrong.status == 400, "\(name)")
                    #expect(wrong["errors"]?.array?.first?["pointer"] == "/username")
                }
                #expect(try await user.call(.DELETE, "/v1/account").status == 415)
                // An access token alone does not do it.
                let shown = try await server.call(
                    .DELETE,
                    "/v1/account",
                    ["username": "anna"],
                    token: user.access
                )
                #expect(shown.status >= 400)
                #expect(try await user.call(.GET, "/v1/me").status == 200)
                let deleted = try await user.call(.DELETE, "/v1/account", ["username": "Anna"])
                #expect(deleted.status == 204, "\(deleted.text)")
                #expect(try await user.call(.GET, "/v1/me").status == 401)
                #expect(try await user.renew().code == "invalid_grant")
                let introspected = try await server.form(
                    "/v1/introspect",
                    ["token": service],
                    token: TestServer.serviceSecret
                )
                #expect(introspected["active"] == false)
                #expect(try await user.logIn().status == 401)
                #expect(try await user.logInByPasskey(named: false).status == 401)
                #expect(try await server.recover("anna", codes[0]).status == 401)
                #expect(try await server.redeem(link).status == 410)
                #expect(try await server.admin(.GET, "/users/\(user.id)").status == 404)
                #expect(try await server.audit(of: user.id).last == "user_deleted owner")
                #expect(try await other.call(.GET, "/v1/me").status == 200)
                // The name is free again, for an account of its own.
                let next = try await TestUser.make(on: server)
                #expect(next.id != user.id)
                #expect(try await server.admin(.GET, "/users/\(next.id)/credentials")["credentials"] == [])
            }
        }

        @Test("a sign-in of an hour ago does not delete the account")
        func stale() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.signedIn(on: server)
                try server.ageSessions()
                let answer = try await user.call(.DELETE, "/v1/account", ["username": "anna"])
                #expect(answer.status == 401 && answer.code == "insufficient_user_authentication")
                #expect(try await server.admin(.GET, "/users/\(user.id)").status == 200)
            }
        }

        @Test("a long audit comes in parts, which follow each other")
        func parts() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.signedIn(on: server)
                let account = AccountID(Base64URL.decode(user.id) ?? [])
                let events = (0..<OwnAccountRoutes.auditPage).map { _ in
                    AuditEvent(.sessionRenewed, account: account, reason: "refresh_token")
                }
                try await server.program.store.record(events, now: .now)
                let first = try await user.call(.GET, "/v1/account/export")
                #expect(first["audit"]?.array?.count == OwnAccountRoutes.auditPage)
                let next = try #require(first["next"]?.string)
                #expect(next == "\(OwnAccountRoutes.auditPage)")
                let rest = try await user.call(.GET, "/v1/account/export?after=\(next)")
                #expect(rest["next"] == nil)
                let sequences = (rest["audit"]?.array ?? []).compactMap { $0["sequence"]?.integer }
                #expect(sequences.first == Int64(OwnAccountRoutes.auditPage) + 1 && sequences.count == 2)
            }
        }
    }
}
