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
    @Suite("Links of administrators")
    struct LinkTests {
        @Test(
            "a new user gets in once, can do one thing, and then signs in by the passkey",
            arguments: ServerDatabase.allCases
        )
        func enrolment(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) { server in
                let made = try await server.admin(.POST, "/users", ["username": "anna"])
                let id = try #require(made["id"]?.string)
                var user = TestUser(server: server, id: id, name: "anna")
                let answer = try await server.admin(.POST, "/users/\(id)/links", ["kind": "enrolment"])
                let (created, expires) = (answer["createdAt"]?.integer, answer["expiresAt"]?.integer)
                #expect(try #require(expires) - #require(created) == 86_400)
                let token = try #require(answer["url"]?.string?.split(separator: "=").last.map(String.init))
                // It is shown once.
                let list = try await server.admin(.GET, "/users/\(id)/links")
                #expect(list["links"]?.array?.count == 1 && !list.text.contains(token))
                #expect(list["links"]?.array?.first?["id"] == answer["id"])

                let key = SoftProofKey()
                let redeemed = try await server.redeem(token, key: key)
                #expect(redeemed.status == 200, "\(redeemed.text)")
                #expect(redeemed["task"] == "set_up" && redeemed["acr"] == "0" && redeemed["amr"] == [])
                #expect(redeemed["credentials"] == "keep")
                #expect(try await server.admin(.GET, "/users/\(id)/links")["links"] == [])
                user = try user.inSession(redeemed, key: key)
                #expect(try await user.call(.GET, "/v1/me")["task"] == "set_up")
                try await server.expectNothingBut(.setUp, token: user.access)
                // Nothing at services either.
                let wanted = try await user.renew(audience: [("resource", TestServer.audience)])
                #expect(wanted.code == "invalid_grant")
                let shown = try await server.form(
                    "/v1/introspect",
                    ["token": user.refresh],
                    token: TestServer.serviceSecret
                )
                #expect(shown["active"] == false)
                #expect(try await user.renew().status == 200)

                #expect(try await user.register().status == 201)
                #expect(try await user.call(.GET, "/v1/me").status == 401)
                #expect(try await user.renew().code == "invalid_grant")
                let signedIn = try await user.logInByPasskey()
                #expect(signedIn["acr"] == "phr" && signedIn["task"] == nil, "\(signedIn.text)")
                let again = try await server.redeem(token)
                #expect(again.status == 410 && again.code == "link_invalid")
                #expect(
                    try await server.audit(of: id).prefix(5) == [
                        "user_created", "link_issued enrolment", "link_redeemed enrolment",
                        "authn_login_fail limited_session", "session_renewed refresh_token",
                    ]
                )
                // Transactions of other tests on the same PostgreSQL server hold back the newest records.
                var all = ""
                let deadline = ContinuousClock.now + .seconds(60)
                while !all.contains("no_link"), ContinuousClock.now < deadline {
                    all = try await server.admin(.GET, "/audit?count=1000").text
                }
                #expect(!all.contains(token) && all.contains("no_link"))
            }
        }

        @Test(
            "a recovery keeps the passkeys and sessions or ends all, as the administrator chose, and says which",
            arguments: ServerDatabase.allCases,
            ["keep", "end"]
        )
        func recovery(_ database: ServerDatabase, _ choice: String) async throws {
            try await TestServer.with(on: database) { server in
                let user = try await TestUser.withPasskey(on: server)
                let codes = try await user.makeCodes()
                let body: JSONValue = ["kind": "recovery", "credentials": .string(choice)]
                let answer = try await server.admin(.POST, "/users/\(user.id)/links", body)
                let (created, expires) = (answer["createdAt"]?.integer, answer["expiresAt"]?.integer)
                #expect(try #require(expires) - #require(created) == 3600)
                let token = try await server.link(user.id, body)
                // Making it changes nothing yet.
                #expect(try await user.call(.GET, "/v1/me").status == 200)
                let key = SoftProofKey()
                let redeemed = try await server.redeem(token, key: key)
                #expect(redeemed["credentials"]?.string == choice, "\(redeemed.text)")
                let keeps = choice == "keep"
                #expect(try await user.call(.GET, "/v1/me").status == (keeps ? 200 : 401))
                #expect(try await user.renew().status == (keeps ? 200 : 400))
                #expect(try await user.logInByPasskey(named: false).status == (keeps ? 200 : 401))
                let credentials = try await server.admin(.GET, "/users/\(user.id)/credentials")
                #expect(credentials["credentials"]?.array?.count == (keeps ? 1 : 0))
                let account = try await server.admin(.GET, "/users/\(user.id)")
                #expect(account["hasPassword"] == .bool(keeps))

                // The forgotten password is not asked for.
                let limited = try user.inSession(redeemed, key: key)
                let weak = try await limited.call(.PUT, "/v1/me/password", ["new": "short"])
                #expect(weak.code == "weak_password")
                let set = try await limited.call(.PUT, "/v1/me/password", ["new": "a new one for me 5"])
                #expect(set.status == 204, "\(set.text)")
                #expect(try await limited.call(.GET, "/v1/me").status == 401)
                #expect(try await user.call(.GET, "/v1/me").status == 401)
                #expect(try await user.logIn("a new one for me 5").status == 200)
                let recovered = try await server.recover("anna", codes[0])
                #expect(recovered.status == (keeps ? 200 : 401))
                let audit = try await server.audit(of: user.id)
                #expect(audit.contains("link_redeemed recovery_\(choice)"))
                #expect(audit.contains("authn_password_change set_up"))
                #expect(audit.contains("credential_removed recovery") == !keeps)
            }
        }

        @Test(
            "a link that was replaced, revoked or expired, or whose account was locked or deleted, opens nothing",
            arguments: ServerDatabase.allCases
        )
        func invalid(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) { server in
                let user = try await TestUser.withPasskey(on: server)
                let id = user.id
                func expectInvalid(_ token: String, _ what: String) async throws {
                    let answer = try await server.redeem(token)
                    #expect(answer.status == 410 && answer.code == "link_invalid", "\(what): \(answer.text)")
                }
                let first = try await server.link(id)
                let recovery = try await server.link(id, ["kind": "recovery", "credentials": "end"])
                let second = try await server.link(id)
                try await expectInvalid(first, "replaced")
                let list = try await server.admin(.GET, "/users/\(id)/links")["links"]?.array ?? []
                #expect(list.map { $0["kind"] } == ["recovery", "enrolment"])
                let link = list.last?["id"]?.string ?? ""
                let other = try await TestUser.make(on: server, "berta")
                #expect(try await server.admin(.DELETE, "/users/\(other.id)/links/\(link)").status == 404)
                #expect(try await server.admin(.DELETE, "/users/\(id)/links/\(link)").status == 204)
                #expect(try await server.admin(.DELETE, "/users/\(id)/links/\(link)").status == 404)
                try await expectInvalid(second, "revoked")

                let old = OpaqueToken(.link, at: 0)
                let expired = AccountLink(
                    digest: TokenDigest(old.digest),
                    account: AccountID(Base64URL.decode(id) ?? []),
                    kind: .enrolment,
                    credentials: .keep,
                    createdAt: Timestamp(seconds: 0),
                    expiresAt: Timestamp.now
                )
                let event = AuditEvent(.linkIssued)
                _ = try await server.program.store.issue(expired, audit: event, now: .now)
                try await expectInvalid(old.text, "expired")
                for kind in OpaqueToken.Kind.allCases {
                    try await expectInvalid(OpaqueToken(kind, at: 0).text, "unknown \(kind)")
                }
                for text in [user.access, server.adminToken, "x", "ts_lk_", "ts_lk_\u{0}", "é"] {
                    try await expectInvalid(text, text)
                }

                #expect(try await server.admin(.POST, "/users/\(id)/lock").status == 200)
                try await expectInvalid(recovery, "locked")
                let locked = try await server.admin(.POST, "/users/\(id)/links", ["kind": "enrolment"])
                #expect(locked.status == 403 && locked.code == "account_locked_by_admin")
                #expect(try await server.admin(.POST, "/users/\(id)/unlock").status == 200)
                try await expectInvalid(recovery, "unlocked again")
                #expect(try await user.logInByPasskey().status == 200)
                let last = try await server.link(id)
                // The session that it opened ends with the account, too.
                let token = try await server.link(id, ["kind": "recovery", "credentials": "keep"])
                let entered = try await user.enter(by: token)
                #expect(try await server.admin(.DELETE, "/users/\(id)").status == 204)
                try await expectInvalid(last, "deleted")
                #expect(try await entered.call(.GET, "/v1/me").status == 401)
                let gone = try await server.admin(.POST, "/users/\(id)/links", ["kind": "enrolment"])
                #expect(gone.status == 404)
            }
        }

        @Test(
            "of eight at once one gets in, and the link outlives a restart",
            arguments: ServerDatabase.allCases
        )
        func concurrently(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) { server in
                let user = try await TestUser.make(on: server)
                let before = try await server.link(user.id)
                // Another server on the same store, as after a restart.
                try await TestServer.with(server.configuration, adminToken: server.adminToken) { other in
                    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                        for number in 0..<8 {
                            let target = number % 2 == 0 ? server : other
                            group.addTask { try await target.redeem(before).status }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                    #expect(statuses.count { $0 == 200 } == 1, "\(statuses)")
                    #expect(statuses.count { $0 == 410 } == 7, "\(statuses)")
                }
            }
        }

        @Test("a link's request has limits: kind, lifetime, and what becomes of credentials")
        func requests() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                for (body, pointer): (JSONValue, String) in [
                    ([:], "/kind"), (["kind": "other"], "/kind"), (["kind": 1], "/kind"),
                    (["kind": "recovery"], "/credentials"),
                    (["kind": "recovery", "credentials": "some"], "/credentials"),
                    (["kind": "enrolment", "credentials": "end"], "/credentials"),
                    (["kind": "enrolment", "expiresIn": 59], "/expiresIn"),
                    (["kind": "enrolment", "expiresIn": 2_592_001], "/expiresIn"),
                    (["kind": "enrolment", "expiresIn": "60"], "/expiresIn"),
                ] {
                    let answer = try await server.admin(.POST, "/users/\(user.id)/links", body)
                    #expect(answer.status == 400, "\(body.text)")
                    #expect(answer["errors"]?.array?.first?["pointer"]?.string == pointer, "\(answer.text)")
                }
                for seconds: Int64 in [60, 2_592_000] {
                    let answer = try await server.admin(
                        .POST,
                        "/users/\(user.id)/links",
                        ["kind": "enrolment", "expiresIn": .integer(seconds)]
                    )
                    let (created, expires) = (answer["createdAt"]?.integer, answer["expiresAt"]?.integer)
                    #expect(try #require(expires) - #require(created) == seconds)
                }
                // A session that could do nothing is not opened, and the link is not used up.
                let token = try await server.link(user.id)
                let bare = try await server.redeem(token, key: nil)
                #expect(bare.status == 400 && bare.code == "invalid_dpop_proof")
                #expect(try await server.redeem(token).status == 200)
            }
        }

        @Test("failed links count for the address as failed passwords do, and used ones do not")
        func limits() async throws {
            try await TestServer.with {
                $0.passwordsPerMinute = 3
            } _: { server in
                let user = try await TestUser.make(on: server)
                for _ in 0..<5 {
                    #expect(try await server.redeem(try await server.link(user.id)).status == 200)
                }
                let token = try await server.link(user.id)
                for _ in 0..<3 { #expect(try await server.redeem("ts_lk_wrong").status == 410) }
                let limited = try await server.redeem(token)
                #expect(limited.status == 429 && limited.code == "too_many_attempts")
                #expect(limited.headers.contains(name: "Retry-After"))
            }
        }

        @Test("in cookies no token is in a response, and the cookies end with the session")
        func cookies() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                let token = try await server.link(user.id)
                func send(
                    _ method: NIOHTTP1.HTTPMethod,
                    _ path: String,
                    _ body: JSONValue?,
                    origin: String?,
                    cookies: [String] = []
                ) async throws -> Answer {
                    var headers = HTTPHeaders()
                    if let origin { headers.add(name: "Origin", value: origin) }
                    if !cookies.isEmpty {
                        headers.add(name: "Cookie", value: cookies.joined(separator: "; "))
                    }
                    return try await server.send(
                        method,
                        server.api + path,
                        headers,
                        body.map { (Array($0.text.utf8), "application/json") }
                    )
                }
                let body: JSONValue = ["token": .string(token), "session": "cookie"]
                for origin in [nil, "https://elsewhere.example"] {
                    let refused = try await send(.POST, "/v1/links/redeem", body, origin: origin)
                    #expect(refused.status == 403, "\(refused.text)")
                }
                let redeemed = try await send(.POST, "/v1/links/redeem", body, origin: TestServer.origin)
                #expect(redeemed.status == 200 && !redeemed.text.contains("ts_"), "\(redeemed.text)")
                let cookies = redeemed.headers["Set-Cookie"].map { String($0.prefix { $0 != ";" }) }
                #expect(cookies.count == 2)
                // An anonymous sign-in is possible beside it; a reauthentication of it is not.
                for (purpose, status) in [("login", 200), ("reauth", 401)] {
                    let options = try await send(
                        .POST,
                        "/v1/login/options",
                        ["purpose": .string(purpose)],
                        origin: TestServer.origin,
                        cookies: cookies
                    )
                    #expect(options.status == status, "\(options.text)")
                }
                let set = try await send(
                    .PUT,
                    "/v1/me/password",
                    ["new": "a new one for me 5"],
                    origin: TestServer.origin,
                    cookies: cookies
                )
                #expect(set.status == 204)
                #expect(set.headers["Set-Cookie"].count { $0.contains("Max-Age=0") } == 2)
                let after = try await send(.GET, "/v1/me", nil, origin: nil, cookies: cookies)
                #expect(after.status == 401)
                #expect(try await user.logIn("a new one for me 5").status == 200)
            }
        }
    }
}
