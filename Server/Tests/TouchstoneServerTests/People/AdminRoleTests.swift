import AccountStore
import Foundation
import HTTPTypes
import NIOHTTP1
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Roles of administrators")
    struct AdminRoleTests {
        /// A token of a role.
        private func token(_ role: AdminRole, on server: TestServer) async throws -> String {
            let answer = try await server.admin(
                .POST,
                "/tokens",
                ["name": .string("is \(role.rawValue)"), "role": .string(role.rawValue)]
            )
            #expect(answer.status == 201 && answer["role"]?.string == role.rawValue, "\(answer.text)")
            return try #require(answer["token"]?.string)
        }

        /// A path with identifiers that nothing has.
        private func path(_ operation: TouchstoneServer.Operation) -> String {
            operation.path.replacing(#/\{\w+\}/#, with: "AAAA")
        }

        @Test(
            "every call of the admin port serves its role and those above, and is refused and audited below",
            arguments: ServerDatabase.allCases
        )
        func matrix(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) { server in
                for role in AdminRole.allCases {
                    let token = try await token(role, on: server)
                    var refused = 0
                    for operation in AdminAPI.operations {
                        guard case .admin(let least) = operation.access else { continue }
                        let answer = try await server.call(
                            .init(rawValue: operation.method.rawValue),
                            path(operation),
                            operation.method == .get ? nil : JSONValue.object(JSONObject([])),
                            token: token,
                            isAdmin: true
                        )
                        if role < least {
                            refused += 1
                            #expect(
                                answer.status == 403 && answer.code == "forbidden",
                                "\(role) \(operation.id): \(answer.text)"
                            )
                            #expect(answer["detail"]?.string?.contains("role is \(role.rawValue)") == true)
                        } else {
                            // What was asked for is not there, or the empty body is wrong.
                            #expect(
                                [200, 400, 404].contains(answer.status),
                                "\(role) \(operation.id): \(answer.text)"
                            )
                        }
                    }
                    #expect((refused == 0) == (role == .all))
                    let records = try await server.admin(.GET, "/audit?count=1000")["records"]?.array ?? []
                    let audited = records.filter {
                        $0["reason"]?.string == "admin_role"
                            && $0["details"]?.string == #"{"admin":"is \#(role.rawValue)"}"#
                    }
                    #expect(audited.count == refused)
                    #expect(audited.allSatisfy { $0["event"]?.string == "authz_fail" })
                }
            }
        }

        @Test(
            "who may only read changes nothing: every call for that role is a GET, and every GET but none else"
        )
        func reading() {
            for operation in AdminAPI.operations {
                guard case .admin(let least) = operation.access else { continue }
                #expect((least == .read) == (operation.method == .get), "\(operation.id)")
            }
        }

        @Test("the table of the guide has every call with its role")
        func guide() throws {
            let text = try Guide.deployment.text()
            let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `") && $0.contains("/admin/v1/") }
            let expected = AdminAPI.operations.compactMap { operation -> String? in
                guard case .admin(let least) = operation.access else { return nil }
                let marks = AdminRole.allCases.map { $0 >= least ? "yes" : "no" }
                return
                    "| `\(operation.method.rawValue) \(operation.path)` | \(marks.joined(separator: " | ")) |"
            }
            #expect(Set(rows.map(String.init)) == Set(expected))
            if Set(rows.map(String.init)) != Set(expected) { print(expected.joined(separator: "\n")) }
        }

        @Test("the help desk sets only passwords that have to be changed, and helps the owner in")
        func helpDesk() async throws {
            try await TestServer.with { server in
                let token = try await token(.helpDesk, on: server)
                func call(
                    _ method: NIOHTTP1.HTTPMethod,
                    _ path: String,
                    _ body: JSONValue? = nil
                ) async throws -> Answer {
                    try await server.call(method, "/admin/v1" + path, body, token: token, isAdmin: true)
                }
                let user = try await TestUser.withPasskey(on: server)
                let path = "/users/\(user.id)"
                for body: JSONValue in [
                    ["new": "a staple of batteries"],
                    ["new": "a staple of batteries", "mustChangePassword": false],
                ] {
                    let answer = try await call(.PUT, "\(path)/password", body)
                    #expect(answer.status == 403 && answer.code == "forbidden")
                    #expect(answer["detail"]?.string?.contains("mustChangePassword") == true)
                }
                #expect(try await user.logIn().status == 200)
                let set = try await call(
                    .PUT,
                    "\(path)/password",
                    ["new": "a staple of batteries", "mustChangePassword": true]
                )
                #expect(set.status == 204, "\(set.text)")
                let link = try await call(.POST, "\(path)/links", ["kind": "enrolment"])
                #expect(link.status == 201)
                #expect(
                    try await call(.DELETE, "\(path)/links/\(link["id"]?.string ?? "")").status == 204
                )
                let credential = Base64URL.encode(user.authenticator.credentialId)
                for change in ["suspend", "restore"] {
                    #expect(
                        try await call(.POST, "\(path)/credentials/\(credential)/\(change)").status == 200
                    )
                }
                #expect(try await call(.POST, "\(path)/lock").status == 200)
                #expect(try await call(.POST, "\(path)/unlock").status == 200)
                #expect(try await call(.DELETE, "\(path)/sessions").status == 200)
                #expect(try await call(.DELETE, path).status == 403)
                #expect(try await server.admin(.GET, path).status == 200)
                // Who did it is in the audit.
                let audit = try await server.admin(.GET, "\(path)/audit?count=1000")["records"]?.array ?? []
                #expect(audit.filter { $0["details"]?.string?.contains("is help-desk") == true }.count >= 7)
            }
        }

        @Test(
            "a token without a role may do everything, an unknown role is refused, and check-config counts them"
        )
        func tokens() async throws {
            try await TestServer.with { server in
                #expect(try await server.admin(.POST, "/tokens", ["name": "x"])["role"]?.string == "all")
                for role: JSONValue in ["owner", "", "ALL", 7] {
                    let answer = try await server.admin(.POST, "/tokens", ["name": "y", "role": role])
                    #expect(answer.status == 400, "\(answer.text)")
                }
                let reader = try await token(.read, on: server)
                let list = try await server.call(.GET, "/admin/v1/tokens", token: reader, isAdmin: true)
                #expect(
                    Set(list["tokens"]?.array?.compactMap { $0["role"]?.string } ?? []) == ["all", "read"]
                )
                #expect(list["tokens"]?.array?.contains { $0["token"] != nil } == false)
                #expect(
                    try await server.configuration.check().contains(
                        "administrators' tokens: all 2, help-desk 0, read 1"
                    )
                )
            }
        }
    }
}
