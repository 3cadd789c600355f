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
    @Suite("Administrators, probes, metrics")
    struct AdminTests {
        @Test("the first administrator is created once; every other call needs a token")
        func bootstrap() async throws {
            try await TestServer.with { server in
                #expect(try await server.program.offerFirstAdministrator() == nil)
                let wrong = try await server.call(
                    .POST,
                    "/admin/v1/bootstrap",
                    ["token": "ts_bt_x"],
                    isAdmin: true
                )
                #expect(wrong.status == 401 && wrong.code == "authentication_failed")
                for operation in AdminAPI.operations {
                    guard case .admin = operation.access else { continue }
                    for token in [nil, "wrong", TestServer.serviceSecret] {
                        let path = operation.path.replacing("{id}", with: "AAAA")
                            .replacing("{session}", with: "AAAA").replacing("{credential}", with: "AAAA")
                            .replacing("{link}", with: "AAAA")
                        let answer = try await server.call(
                            .init(rawValue: operation.method.rawValue),
                            path,
                            token: token,
                            isAdmin: true
                        )
                        #expect(answer.status == 401 && answer.code == "invalid_token", "\(operation.id)")
                    }
                }
                let added = try await server.admin(.POST, "/tokens", ["name": "second", "expiresIn": 3600])
                #expect(added.status == 201)
                let token = try #require(added["token"]?.string)
                let list = try await server.call(.GET, "/admin/v1/tokens", token: token, isAdmin: true)
                #expect(list["tokens"]?.array?.count == 2)
                #expect(!list.text.contains(token))
                let id = try #require(added["id"]?.string)
                #expect(try await server.admin(.DELETE, "/tokens/\(id)").status == 204)
                #expect(
                    try await server.call(.GET, "/admin/v1/tokens", token: token, isAdmin: true).status == 401
                )
                // The API's port does not serve it.
                let elsewhere = try await server.call(.GET, "/admin/v1/users", token: server.adminToken)
                #expect(elsewhere.status == 404)
            }
        }

        @Test("accounts are created, found, renamed, locked, deleted")
        func users() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                let taken = try await server.admin(.POST, "/users", ["username": "Anna"])
                #expect(taken.status == 409 && taken.code == "username_taken")
                let weak = try await server.admin(
                    .POST,
                    "/users",
                    ["username": "berta", "password": "12345678"]
                )
                #expect(weak.status == 422 && weak.code == "weak_password")
                for name in ["a b", "", "tab\tname"] {
                    let answer = try await server.admin(.POST, "/users", ["username": .string(name)])
                    #expect(answer.status == 400 && answer["errors"] != nil)
                }
                for name in ["carl", "berta"] {
                    #expect(
                        try await server.admin(.POST, "/users", ["username": .string(name)]).status == 201
                    )
                }
                let page = try await server.admin(.GET, "/users?count=2")
                #expect(page["users"]?.array?.compactMap { $0["username"]?.string } == ["anna", "berta"])
                let rest = try await server.admin(.GET, "/users?count=2&after=berta")
                #expect(rest["users"]?.array?.compactMap { $0["username"]?.string } == ["carl"])
                #expect(try await server.admin(.GET, "/users?count=zero").status == 400)

                #expect(try await server.admin(.POST, "/users/\(user.id)/lock")["lockedAt"] != nil)
                #expect(try await user.call(.GET, "/v1/me").status == 401)
                let locked = try await user.logIn()
                #expect(locked.status == 403 && locked.code == "account_locked_by_admin")
                let passkey = try await user.logInByPasskey()
                #expect(passkey.status == 403 && passkey.code == "account_locked_by_admin", "\(passkey.text)")
                // Without the right password the response does not reveal the lock.
                #expect([401, 429].contains(try await user.logIn("wrong wrong").status))
                #expect(try await server.admin(.POST, "/users/\(user.id)/unlock")["lockedAt"] == nil)
                #expect(
                    try await server.admin(
                        .PUT,
                        "/users/\(user.id)/password",
                        ["new": "a staple of batteries"]
                    ).status
                        == 204
                )
                #expect(try await user.logIn("a staple of batteries").status == 200)
                let renamed = try await server.admin(.PATCH, "/users/\(user.id)", ["username": "anneliese"])
                #expect(renamed["username"]?.string == "anneliese")

                let sessions =
                    try await server.admin(.GET, "/users/\(user.id)/sessions")["sessions"]?.array ?? []
                #expect(sessions.count == 1)
                let session = sessions.first?["id"]?.string ?? ""
                #expect(
                    try await server.admin(.DELETE, "/users/\(user.id)/sessions/\(session)").status == 204
                )
                #expect(try await server.admin(.DELETE, "/users/\(user.id)/sessions")["ended"]?.integer == 0)
                let credential = Base64URL.encode(user.authenticator.credentialId)
                let path = "/users/\(user.id)/credentials"
                let suspended = try await server.admin(.POST, "\(path)/\(credential)/suspend")
                #expect(suspended["suspension"]?.string == "administrator")
                #expect(try await server.admin(.GET, path)["credentials"]?.array?.count == 1)
                #expect(try await server.admin(.DELETE, "\(path)/\(credential)").status == 204)
                #expect(try await server.admin(.DELETE, "/users/\(user.id)").status == 204)
                #expect(try await server.admin(.GET, "/users/\(user.id)").status == 404)
                let audit = try await server.admin(.GET, "/users/\(user.id)/audit?count=1000")
                let events = audit["records"]?.array?.compactMap { $0["event"]?.string } ?? []
                for event in [
                    "user_created", "authn_login_success", "credential_registered", "authn_login_lock",
                    "authn_password_change", "session_logout", "credential_suspended", "credential_removed",
                    "user_deleted",
                ] { #expect(events.contains(event), "\(event)") }
            }
        }

        @Test("the audit is a chain and contains no secrets")
        func audit() async throws {
            try await TestServer.with { server in
                var user = try await TestUser.withPasskey(on: server)
                try user.take(try await user.renew())
                _ = try await user.logIn("wrong wrong wrong")
                var records: [JSONValue] = []
                var cursor = "0"
                while true {
                    let page = try await server.admin(.GET, "/audit?after=\(cursor)&count=3")
                    let part = page["records"]?.array ?? []
                    if part.isEmpty { break }
                    records += part
                    cursor = page["next"]?.string ?? ""
                }
                #expect(records.count >= 5)
                // A cursor is a string, since positions exceed JSON's exact numbers, and comes back as it was.
                for cursor in ["9007199254740991", "9007199254740992", "9223372036854775807"] {
                    let end = try await server.admin(.GET, "/audit?after=\(cursor)")
                    #expect(end["next"]?.string == cursor, "\(end.text)")
                }
                for cursor in ["9223372036854775808", "-1", "+1", "1.0", "%20", "x"] {
                    #expect(try await server.admin(.GET, "/audit?after=\(cursor)").status == 400, "\(cursor)")
                }
                var last: [String: String] = [:]
                for record in records {
                    let chain = record["chain"]?.string ?? ""
                    if let hash = last[chain] { #expect(record["previousHash"]?.string == hash) }
                    last[chain] = record["hash"]?.string
                }
                let text = records.map(\.text).joined()
                for secret in [
                    user.access, user.refresh, server.adminToken, TestUser.password, "wrong wrong wrong",
                ] {
                    #expect(!text.contains(secret))
                }
                #expect(text.contains("127.0.0.1"))
            }
        }

        @Test("the server is ready while its store is writable, and live in either case")
        func health() async throws {
            try await TestServer.with { server in
                let ready = try await server.call(.GET, "/health/ready", isAdmin: true)
                #expect(ready.status == 200 && ready["status"]?.string == "ready")
                #expect(try await server.call(.GET, "/health/live", isAdmin: true).status == 200)
                await server.program.store.close()
                let broken = try await server.call(.GET, "/health/ready", isAdmin: true)
                #expect(broken.status == 503)
                #expect(broken["failures"]?["store"] != nil)
                #expect(try await server.call(.GET, "/health/live", isAdmin: true).status == 200)
                let login = try await server.call(
                    .POST,
                    "/v1/login/password",
                    ["username": "anna", "password": "wrong wrong"]
                )
                #expect(login.status == 503 && login.code == "overloaded")
                #expect(login.headers.contains(name: "Retry-After"))
            }
        }

        @Test("metrics have Prometheus' format and count events")
        func metrics() async throws {
            try await TestServer.with { server in
                var user = try await TestUser.withPasskey(on: server)
                user.key = nil
                try user.take(try await user.logInByPasskey())
                try user.take(try await user.renew())
                _ = try await server.call(.GET, "/\"quoted\"\n")
                _ = try? await server.send(.RAW(value: "BREW"), server.api + "/v1/me")
                let answer = try await server.call(.GET, "/metrics", isAdmin: true)
                #expect(
                    answer.headers.first(name: "Content-Type")?.hasPrefix("text/plain; version=0.0.4") == true
                )
                let line =
                    /([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-z_]+="(\\.|[^"\\\n])*",?)+\})? -?[0-9.e+-]+(Inf)?/
                for text in answer.text.split(separator: "\n") where !text.hasPrefix("#") {
                    #expect(text.wholeMatch(of: line) != nil, "\(text)")
                }
                for expected in [
                    #"touchstone_logins_total{method="password",outcome="success"} 1"#,
                    #"touchstone_logins_total{method="passkey",outcome="success"} 1"#,
                    #"touchstone_refreshes_total{outcome="rotated"} 1"#,
                    #"touchstone_registrations_total{format="packed",outcome="success"} 1"#,
                    #"touchstone_requests_total{route="/v1/login",method="POST",status="200"} 1"#,
                    "# TYPE touchstone_request_seconds histogram",
                ] { #expect(answer.text.contains(expected), "\(expected)") }
                #expect(!answer.text.contains("quoted") && !answer.text.contains("BREW"))
            }
        }
    }
}
