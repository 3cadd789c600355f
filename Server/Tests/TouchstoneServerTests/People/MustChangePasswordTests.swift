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
    @Suite("Passwords that must be changed")
    struct MustChangePasswordTests {
        @Test(
            "an administrator's password opens a session that can only change it",
            arguments: ServerDatabase.allCases
        )
        func change(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) { server in
                let made = try await server.admin(
                    .POST,
                    "/users",
                    [
                        "username": "anna", "password": .string(TestUser.password),
                        "mustChangePassword": true,
                    ]
                )
                #expect(made["mustChangePassword"] == true, "\(made.text)")
                var user = TestUser(server: server, id: try #require(made["id"]?.string), name: "anna")
                // Where the session could do nothing none is opened, and the right password is no failure.
                for _ in 0..<3 {
                    let refused = try await server.call(
                        .POST,
                        "/v1/login/password",
                        ["username": "anna", "password": .string(TestUser.password)]
                    )
                    #expect(refused.status == 403 && refused.code == "password_change_required")
                }
                let wanted = try await server.call(
                    .POST,
                    "/v1/login/password",
                    [
                        "username": "anna", "password": .string(TestUser.password),
                        "resource": .string(TestServer.audience),
                    ],
                    key: user.key
                )
                #expect(wanted.code == "password_change_required")
                let login = try await user.logIn()
                #expect(login["task"] == "change_password" && login["acr"] == "pwd", "\(login.text)")
                #expect(login["offerDeviceLogin"] == nil)
                try user.take(login)
                try await server.expectNothingBut(.changePassword, token: user.access)
                let body = { (new: String) -> JSONValue in
                    ["current": .string(TestUser.password), "new": .string(new)]
                }
                let same = try await user.call(.PUT, "/v1/me/password", body(TestUser.password))
                #expect(same.code == "weak_password" && same["rule"] == "unchanged")
                let changed = try await user.call(.PUT, "/v1/me/password", body("a new one for me 5"))
                #expect(changed.status == 204, "\(changed.text)")
                #expect(try await user.call(.GET, "/v1/me").status == 401)
                #expect(try await user.renew().code == "invalid_grant")
                let next = try await user.logIn("a new one for me 5")
                #expect(next.status == 200 && next["task"] == nil)
                #expect(try await server.admin(.GET, "/users/\(user.id)")["mustChangePassword"] == nil)
                let audit = try await server.audit(of: user.id)
                #expect(audit.contains("authn_password_change change_password"))
            }
        }

        @Test(
            "the current password is needed, and passkeys sign in as before",
            arguments: ServerDatabase.allCases
        )
        func passkey(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) { server in
                let user = try await TestUser.withPasskey(on: server)
                let chosen: JSONValue = ["new": "chosen by the admin", "mustChangePassword": true]
                let path = "/users/\(user.id)/password"
                #expect(try await server.admin(.PUT, path, chosen).status == 204)
                #expect(try await user.call(.GET, "/v1/me").status == 401)
                let passkey = try await user.logInByPasskey()
                #expect(passkey.status == 200 && passkey["task"] == nil, "\(passkey.text)")
                let login = try await user.logIn("chosen by the admin")
                var limited = user
                try limited.take(login)
                for current in ["wrong wrong", nil] {
                    let answer = try await limited.call(
                        .PUT,
                        "/v1/me/password",
                        JSONValue(members: [
                            "current": current.map { .string($0) }, "new": "a new one for me 5",
                        ])
                    )
                    #expect(
                        answer.code == "authentication_failed" || answer.code == "too_many_attempts",
                        "\(answer.text)"
                    )
                    #expect(answer.status != 204)
                }
                // An administrator's password without the flag ends it.
                #expect(try await server.admin(.PUT, path, ["new": "for good this time"]).status == 204)
                #expect(try await limited.call(.GET, "/v1/me").status == 401)
                #expect(try await user.logIn("for good this time")["task"] == nil)
                let audit = try await server.audit(of: user.id)
                #expect(audit.contains("authn_password_change administrator_must_change"))
            }
        }

        @Test("the flag needs a password, and is true or false")
        func requests() async throws {
            try await TestServer.with { server in
                for body: JSONValue in [
                    ["username": "anna", "mustChangePassword": true],
                    ["username": "anna", "password": "long enough 1", "mustChangePassword": "yes"],
                ] {
                    let answer = try await server.admin(.POST, "/users", body)
                    #expect(answer.status == 400, "\(answer.text)")
                    #expect(answer["errors"]?.array?.first?["pointer"] == "/mustChangePassword")
                }
            }
        }
    }
}
