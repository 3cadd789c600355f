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
    @Suite("Password login")
    struct PasswordLoginTests {
        @Test("the password opens a session; device login is offered while there is no device")
        func success() async throws {
            try await TestServer.with { server in
                var user = try await TestUser.make(on: server)
                user.key = nil
                let answer = try await user.logIn()
                #expect(answer.status == 200)
                #expect(answer["token_type"]?.string == "Bearer")
                #expect(answer["expires_in"]?.integer == 300)
                #expect(answer["refresh_bound"]?.bool == false)
                #expect(answer["acr"]?.string == "pwd")
                #expect(answer["amr"] == ["pwd"])
                #expect(answer["offerDeviceLogin"]?.bool == true)
                #expect(answer.headers.first(name: "Cache-Control") == "no-store")
                let me = try await server.call(.GET, "/v1/me", token: answer["access_token"]?.string)
                #expect(me.status == 200)
                #expect(me["username"]?.string == "anna")
                #expect(me["id"]?.string == user.id)
                // User names are case-insensitive.
                let other = try await server.call(
                    .POST,
                    "/v1/login/password",
                    ["username": "ANNA", "password": .string(TestUser.password)]
                )
                #expect(other.status == 200)
            }
        }

        @Test(
            "a wrong password, an unknown user and a user without a password look the same and cost the same"
        )
        func noEnumeration() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                _ = try await server.admin(.POST, "/users", ["username": "bare"])
                func derivations() async throws -> Int {
                    let text = try await server.call(.GET, "/metrics", isAdmin: true).text
                    let line = text.split(separator: "\n").first {
                        $0.hasPrefix("touchstone_password_derivation_seconds_count ")
                    }
                    return Int(line?.split(separator: " ").last ?? "0") ?? 0
                }
                var before = try await derivations()
                var shapes: [[String]] = []
                for name in [user.name, "nobody", "bare", "no one can have this name"] {
                    let answer = try await server.call(
                        .POST,
                        "/v1/login/password",
                        ["username": .string(name), "password": "wrong wrong wrong"]
                    )
                    #expect(answer.status == 401)
                    let members = answer.json?.object?.members.filter { $0.name != "traceId" }
                    shapes.append(
                        (members ?? []).map { "\($0.name)=\($0.value.text)" }
                            + answer.headers.filter {
                                !["date", "x-request-id"].contains($0.name.lowercased())
                            }
                            .map { "\($0.name): \($0.value)" }
                    )
                    let now = try await derivations()
                    #expect(now == before + 1, "\(name)")
                    before = now
                }
                #expect(Set(shapes).count == 1)
                #expect(shapes[0].contains("code=\"authentication_failed\""))
                // Passkey options for an unknown user have one credential, always the same.
                let first = try await user.options(["username": "nobody"])
                let second = try await user.options(["username": "nobody"])
                let ids = [first, second].map { $0["publicKey"]?["allowCredentials"] }
                #expect(first.status == 200 && ids[0] == ids[1])
                #expect(ids[0]?.array?.count == 1)
                let known = try await user.options(["username": .string(user.name)])
                #expect(known["publicKey"]?["allowCredentials"]?.array?.count == 1)
            }
        }

        @Test("failures are delayed longer and longer; other accounts and the account's own device are not")
        func ladder() async throws {
            try await TestServer.with { server in
                var user = try await TestUser.signedIn(on: server)
                let other = try await TestUser.make(on: server, "berta")
                user.authenticator = TestUser.authenticator()
                let registered = try await user.register("device")
                #expect(registered.status == 201, "\(registered.text)")

                /// Fails until the name is delayed; on a busy machine the first delays may be over before the next attempt.
                func failUntilHeldUp(_ name: String) async throws -> Answer {
                    for _ in 0..<30 {
                        let answer = try await server.call(
                            .POST,
                            "/v1/login/password",
                            ["username": .string(name), "password": "wrong wrong"]
                        )
                        if answer.status != 401 { return answer }
                    }
                    throw Problem(.internalError, "never held up")
                }
                // An unknown name is delayed in the same way.
                for name in ["nobody", user.name] {
                    let throttled = try await failUntilHeldUp(name)
                    #expect(throttled.status == 429)
                    #expect(throttled.code == "too_many_attempts")
                    #expect(Int(throttled.headers.first(name: "Retry-After") ?? "0") ?? 0 >= 1)
                    #expect(throttled["retryAfter"]?.integer ?? 0 >= 1)
                }
                #expect(try await other.logIn().status == 200)
                let own = try await user.logIn()
                #expect(own.status == 200, "\(own.text)")
                #expect(own["refresh_bound"]?.bool == true)
                #expect(own["offerDeviceLogin"]?.bool == false)
                // A passkey signs in during the delay of the password.
                #expect(try await user.logInByPasskey().status == 200)
                // The delay ends.
                user.key = nil
                var answer = try await user.logIn()
                for _ in 0..<30 where answer.status == 429 {
                    try await Task.sleep(for: .seconds(Int(answer["retryAfter"]?.integer ?? 1)))
                    answer = try await user.logIn()
                }
                #expect(answer.status == 200)
            }
        }

        @Test("after one mistyped password the right one works at once, and the count begins again")
        func mistyped() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                for _ in 0..<3 {
                    #expect(try await user.logIn("wrong wrong").status == 401)
                    #expect(try await user.logIn().status == 200)
                }
            }
        }

        @Test("correct passwords, and those never checked, do not count as failures of an address or a name")
        func rightOnes() async throws {
            try await TestServer.with {
                $0.passwordsPerMinute = 3
            } _: { server in
                // Many users behind one address.
                var user = try await TestUser.signedIn(on: server)
                for _ in 0..<6 { #expect(try await user.logIn().status == 200) }
                let change: JSONValue = [
                    "current": .string(TestUser.password), "new": .string(TestUser.password),
                ]
                for _ in 0..<4 {
                    #expect(try await user.call(.PUT, "/v1/me/password", change).status == 204)
                    try await user.signIn()
                }
                var statuses: [Int] = []
                for name in 0..<4 {
                    let body: JSONValue = ["username": .string("b-\(name)"), "password": "wrong wrong"]
                    statuses.append(try await server.call(.POST, "/v1/login/password", body).status)
                }
                // Beyond the limit, names without failures pass, and others do not.
                #expect(statuses == [401, 401, 401, 401])
                for _ in 0..<3 { #expect(try await user.logIn().status == 200) }
                for name in 0..<4 {
                    let body: JSONValue = ["username": .string("b-\(name)"), "password": "wrong wrong"]
                    let answer = try await server.call(.POST, "/v1/login/password", body)
                    #expect(answer.status == 429 && answer.code == "too_many_attempts")
                }
                #expect(try await user.logIn("wrong wrong").status == 401)
                #expect(try await user.logIn().status == 429)
            }
            try await TestServer.with {
                $0.passwordsPerMinute = 3
                // Most passwords are refused before they are checked.
                $0.passwordWorkers = 1
                $0.passwordQueue = 0
                $0.passwordCost = .init(ln: 15, r: 8, p: 3)
            } _: { server in
                let refused = try await withThrowingTaskGroup(of: Answer.self) { group in
                    for number in 0..<40 {
                        let body: JSONValue = ["username": .string("c-\(number)"), "password": "wrong wrong"]
                        group.addTask { try await server.call(.POST, "/v1/login/password", body) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                let overloaded = refused.filter { $0.status == 503 }
                #expect(overloaded.allSatisfy { $0.headers.contains(name: "Retry-After") })
                #expect(refused.allSatisfy { [401, 429, 503].contains($0.status) })
                #expect(!overloaded.isEmpty)
            }
        }

        @Test("passwords beyond the queue are refused with 503, and other routes are not delayed")
        func overload() async throws {
            try await TestServer.with {
                $0.passwordWorkers = 1
                $0.passwordQueue = 1
                $0.passwordCost = .init(ln: 14, r: 8, p: 4)
            } _: { server in
                let statuses = try await withThrowingTaskGroup(of: Answer.self) { group in
                    for number in 0..<12 {
                        group.addTask {
                            try await server.call(
                                .POST,
                                "/v1/login/password",
                                ["username": .string("n-\(number)"), "password": "wrong wrong"]
                            )
                        }
                    }
                    let live = try await server.call(.GET, "/.well-known/webauthn")
                    #expect(live.status == 200)
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                let refused = statuses.filter { $0.status == 503 }
                #expect(!refused.isEmpty)
                #expect(
                    refused.allSatisfy { $0.code == "overloaded" && $0.headers.contains(name: "Retry-After") }
                )
                #expect(statuses.allSatisfy { $0.status == 401 || $0.status == 503 })
            }
        }

        @Test(
            "changing the password needs recent authentication and the old password, and ends other sessions"
        )
        func change() async throws {
            try await TestServer.with { server in
                var user = try await TestUser.signedIn(on: server)
                let other = user
                try await user.signIn()
                let path = "/v1/me/password"
                let new = "another battery staple 8"
                func change(_ current: String, _ new: String) async throws -> Answer {
                    try await user.call(.PUT, path, ["current": .string(current), "new": .string(new)])
                }
                for (weak, rule, limit): (String, String, JSONValue?) in [
                    ("short", "too_short", 8), ("password123", "common", nil),
                    ("my-anna-password", "has_username", nil),
                    (String(repeating: "x", count: 200), "too_long", 128),
                ] {
                    let answer = try await change(TestUser.password, weak)
                    #expect(answer["rule"]?.string == rule && answer["limit"] == limit, "\(answer.text)")
                    #expect(answer.status == 422 && answer.code == "weak_password", "\(weak) \(answer.text)")
                }
                #expect(try await change(TestUser.password, new).status == 204)
                #expect(try await other.call(.GET, "/v1/me").status == 401)
                #expect(try await user.call(.GET, "/v1/me").status == 200)
                #expect(try await user.logIn(new).status == 200)
                let wrong = try await change("wrong wrong", "one more battery 9")
                #expect(wrong.status == 401 && wrong.code == "authentication_failed")
            }
        }

        @Test("a session whose authentication is too old has to authenticate again (RFC 9470)")
        func stepUp() async throws {
            try await TestServer.with { usual in
                let first = try await TestUser.withPasskey(on: usual)
                // Another server on the same store that requires more recent authentication.
                var strict = usual.configuration
                strict.freshness = 1
                try await TestServer.with(strict, adminToken: usual.adminToken) { server in
                    var user = TestUser(server: server, id: first.id, name: first.name)
                    user.access = first.access
                    user.refresh = first.refresh
                    user.authenticator = first.authenticator
                    user.key = first.key
                    try await Task.sleep(for: .seconds(2.1))
                    let refused = try await user.call(.POST, "/v1/credentials/options", ["kind": "passkey"])
                    #expect(refused.status == 401)
                    #expect(refused.code == "insufficient_user_authentication")
                    #expect(refused["max_age"]?.integer == 1)
                    let challenge = refused.headers.first(name: "WWW-Authenticate") ?? ""
                    #expect(challenge.contains(#"error="insufficient_user_authentication""#))
                    #expect(challenge.contains("max_age=1"))
                    let begun = try await user.call(.POST, "/v1/login/options", ["purpose": "reauth"])
                    #expect(begun.status == 200, "\(begun.text)")
                    let assertion = try user.assertion(try #require(begun["publicKey"]?["challenge"]?.bytes))
                    let former = user
                    let answer = try await server.call(
                        .POST,
                        "/v1/login",
                        ["ceremonyId": begun["ceremonyId"] ?? .null, "credential": assertion],
                        token: user.access,
                        key: user.key
                    )
                    #expect(answer.status == 200, "\(answer.text)")
                    try user.take(answer)
                    var renewed = TestUser(server: usual, id: user.id, name: user.name, access: user.access)
                    renewed.key = user.key
                    #expect(
                        try await renewed.call(.POST, "/v1/credentials/options", ["kind": "passkey"]).status
                            == 200
                    )
                    // The session is the same, with new tokens (ASVS 7.2.4).
                    #expect(try await former.call(.GET, "/v1/me").status == 401)
                    #expect(try await former.renew().status == 400)
                    let sessions = try await user.call(.GET, "/v1/sessions")
                    #expect(sessions["sessions"]?.array?.count == 1)
                }
            }
        }
    }
}
