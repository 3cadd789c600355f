import AccountStore
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("The OpenAPI document")
    struct OpenAPITests {
        private static let ports = [
            OpenAPIDocument(API.operations, server: "http://localhost"),
            OpenAPIDocument(AdminAPI.operations, server: "http://localhost"),
        ]

        @Test("the document has exactly the router's operations, each with a description")
        func routes() async throws {
            try await TestServer.with { server in
                let pairs = [
                    (server.program.routes.api, try await server.call(.GET, "/v1/openapi.json")),
                    (
                        server.program.routes.admin,
                        try await server.call(.GET, "/admin/v1/openapi.json", isAdmin: true)
                    ),
                ]
                for (routes, document) in pairs {
                    #expect(document.status == 200)
                    #expect(document["openapi"]?.string == "3.1.0")
                    var documented: Set<String> = []
                    for (path, methods) in document["paths"]?.object?.members ?? [] {
                        for (method, operation) in methods.object?.members ?? [] {
                            documented.insert("\(method.uppercased()) \(path)")
                            #expect(operation["summary"]?.string?.isEmpty == false, "\(method) \(path)")
                            #expect(operation["responses"]?.object?.members.isEmpty == false)
                        }
                    }
                    #expect(Set(routes) == documented)
                }
            }
            let ids = (API.operations + AdminAPI.operations).map(\.id)
            #expect(Set(ids).count == ids.count)
            #expect(Set(ids) == Set(OperationDescription.all.keys))
        }

        @Test("every reference resolves")
        func references() {
            for document in Self.ports.map(\.json) {
                var references: [String] = []
                func collect(_ value: JSONValue) {
                    switch value {
                    case .array(let values): values.forEach(collect)
                    case .object(let object):
                        for (name, member) in object.members {
                            if name == "$ref", let text = member.string {
                                references.append(text)
                            } else {
                                collect(member)
                            }
                        }
                    default: break
                    }
                }
                collect(document)
                for reference in references {
                    let name = reference.split(separator: "/").last.map(String.init) ?? ""
                    #expect(document["components"]?["schemas"]?[name] != nil, "\(reference)")
                }
            }
        }

        /// Validates each response against its schema in the document.
        @Test("real responses match their schemas, successes and errors")
        func replies() async throws {
            try await TestServer.with {
                $0.endorsement = .any
                $0.selfRegistration = true
            } _: { server in
                let documents = [
                    try #require(try await server.call(.GET, "/v1/openapi.json").json),
                    try #require(try await server.call(.GET, "/admin/v1/openapi.json", isAdmin: true).json),
                ]
                var seen: Set<String> = []
                func check(_ id: String, _ answer: Answer) throws {
                    let operation = try #require((API.operations + AdminAPI.operations).first { $0.id == id })
                    let document = documents[API.operations.contains { $0.id == id } ? 0 : 1]
                    let method = operation.method.rawValue.lowercased()
                    let responses = document["paths"]?[operation.path]?[method]?["responses"]
                    let response = try #require(
                        responses?["\(answer.status)"],
                        "\(id) \(answer.status) \(answer.text)"
                    )
                    seen.insert(id)
                    guard let content = response["content"]?.object?.members.first else {
                        #expect(answer.body.isEmpty, "\(id)")
                        return
                    }
                    let type = answer.headers.first(name: "Content-Type")?.prefix { $0 != ";" }
                    #expect(content.name == "*/*" || type.map(String.init) == content.name, "\(id)")
                    guard content.name.hasSuffix("json") else { return }
                    let schema = try #require(content.value["schema"])
                    let faults = SchemaValidator(document: document).faults(try #require(answer.json), schema)
                    #expect(faults.isEmpty, "\(id) \(answer.status): \(faults)")
                }
                var user = try await TestUser.make(on: server)
                let login = try await user.logIn()
                try check("loginWithPassword", login)
                try check("loginWithPassword", try await user.logIn("wrong"))
                try check("loginWithPassword", try await user.logIn())
                try user.take(login)
                try check("me", try await user.call(.GET, "/v1/me"))
                try check("me", try await server.call(.GET, "/v1/me"))
                try check(
                    "credentialOptions",
                    try await user.call(.POST, "/v1/credentials/options", ["kind": "device"])
                )
                try check("registerCredential", try await user.register())
                try check("registerCredential", try await user.register())
                try check("registerCredential", try await user.call(.POST, "/v1/credentials", [:]))
                try check("listCredentials", try await user.call(.GET, "/v1/credentials"))
                let id = Base64URL.encode(user.authenticator.credentialId)
                try check("credential", try await user.call(.GET, "/v1/credentials/\(id)"))
                try check("credential", try await user.call(.GET, "/v1/credentials/none"))
                try check(
                    "renameCredential",
                    try await user.call(.PATCH, "/v1/credentials/\(id)", ["label": "x"])
                )
                try check("loginOptions", try await user.options(["username": "anna"]))
                try check("login", try await user.logInByPasskey())
                try check("login", try await server.call(.POST, "/v1/login", [:]))
                try check("token", try await user.renew())
                try check("token", try await server.form("/v1/token", [:]))
                let secret = TestServer.serviceSecret
                try check(
                    "introspect",
                    try await server.form("/v1/introspect", ["token": user.access], token: secret)
                )
                try check("introspect", try await server.form("/v1/introspect", ["token": "x"]))
                try check("listSessions", try await user.call(.GET, "/v1/sessions"))
                try check("endSession", try await user.call(.DELETE, "/v1/sessions/none"))
                try check("endOtherSessions", try await user.call(.DELETE, "/v1/sessions"))
                try check("endOtherSessions", try await user.call(.DELETE, "/v1/sessions?except=current"))
                let made = try await user.call(
                    .POST,
                    "/v1/transactions",
                    ["type": "x", "details": ["a": "b"]]
                )
                try check("createTransaction", made)
                let transaction = made["id"]?.string ?? ""
                try check("transaction", try await user.call(.GET, "/v1/transactions/\(transaction)"))
                try check("listTransactions", try await user.call(.GET, "/v1/transactions"))
                try check(
                    "approveTransaction",
                    try await user.call(
                        .POST,
                        "/v1/transactions/\(transaction)/approval",
                        [
                            "credential": try user.assertion(
                                try #require(made["publicKey"]?["challenge"]?.bytes),
                                signCount: 7
                            )
                        ]
                    )
                )
                try check("transaction", try await user.call(.GET, "/v1/transactions/\(transaction)"))
                try check(
                    "rejectTransaction",
                    try await user.call(.POST, "/v1/transactions/\(transaction)/rejection")
                )
                try check(
                    "transactionEvidence",
                    try await server.call(.GET, "/v1/transactions/\(transaction)/evidence", token: secret)
                )
                try check(
                    "beginActivation",
                    try await user.call(.POST, "/v1/attestation/ak", ["akPublic": "AAAA"])
                )
                try check(
                    "completeActivation",
                    try await user.call(.POST, "/v1/attestation/ak/AAAA", ["secret": "AAAA"])
                )
                _ = try await user.token(for: TestServer.signedAudience)
                try check("keys", try await server.call(.GET, "/.well-known/jwks.json"))
                for (own, query) in [
                    (TestServer.serviceSecret, ""), (TestServer.serviceSecret, "?scope=x"), ("x", ""),
                ] {
                    let token = try await user.token(for: TestServer.audience)
                    let fields: HTTPHeaders = [
                        "Authorization": "Bearer \(token)", "Service-Authorization": "Bearer \(own)",
                    ]
                    try check("check", try await server.send(.GET, server.api + "/v1/check" + query, fields))
                }
                try check("relatedOrigins", try await server.call(.GET, "/.well-known/webauthn"))
                try check("metadata", try await server.call(.GET, "/.well-known/oauth-authorization-server"))
                try check("page", try await server.call(.GET, "/"))
                try check("pageFile", try await server.call(.GET, "/assets/page.js"))
                try check("pageFile", try await server.call(.GET, "/assets/none"))
                try check("openAPI", try await server.call(.GET, "/v1/openapi.json"))
                try check("changePassword", try await user.call(.PUT, "/v1/me/password", ["new": "x"]))
                try check("recoveryCodes", try await user.call(.GET, "/v1/me/recovery-codes"))
                let codes = try await user.call(.POST, "/v1/me/recovery-codes")
                try check("makeRecoveryCodes", codes)
                try check("recoveryCodes", try await user.call(.GET, "/v1/me/recovery-codes"))
                try check("exportAccount", try await user.call(.GET, "/v1/account/export"))
                try check(
                    "deleteOwnAccount",
                    try await user.call(.DELETE, "/v1/account", ["username": "x"])
                )
                let code = codes["codes"]?.array?.first?.string ?? ""
                try check("recover", try await server.recover("nobody", code))
                try check("recover", try await server.recover(user.name, code))
                try check("redeemLink", try await server.redeem("x"))
                let link = try await server.link(user.id)
                let key = SoftProofKey()
                let redeemed = try await server.redeem(link, key: key)
                try check("redeemLink", redeemed)
                let limited = try user.inSession(redeemed, key: key)
                try check("me", try await limited.call(.GET, "/v1/me"))
                try check("listSessions", try await user.call(.GET, "/v1/sessions"))
                try check("listSessions", try await limited.call(.GET, "/v1/sessions"))
                let registration: JSONValue = ["username": "dora", "password": .string(TestUser.password)]
                for _ in 0..<2 {
                    try check(
                        "registerAccount",
                        try await server.call(.POST, "/v1/accounts", registration)
                    )
                }
                try check(
                    "restoreOwnCredential",
                    try await user.call(.POST, "/v1/credentials/\(id)/restore")
                )
                for thing in ["deleted", "stolen"] as [JSONValue] {
                    try check(
                        "endCredential",
                        try await server.call(
                            .POST,
                            "/v1/credentials/\(id)/end",
                            ["reason": thing],
                            key: user.key
                        )
                    )
                }
                try check("deviceKeyOptions", try await user.call(.POST, "/v1/device-keys/options", [:]))
                try check("registerDeviceKey", try await user.call(.POST, "/v1/device-keys", [:]))
                try check("listDeviceKeys", try await user.call(.GET, "/v1/device-keys"))
                try check("removeDeviceKey", try await user.call(.DELETE, "/v1/device-keys/AAAA"))
                try check("removeCredential", try await user.call(.DELETE, "/v1/credentials/\(id)"))
                try check("revoke", try await server.form("/v1/revoke", ["token": "x"]))
                try check("logout", try await user.call(.POST, "/v1/logout"))

                for probe in ["live", "ready"] {
                    try check(probe, try await server.call(.GET, "/health/\(probe)", isAdmin: true))
                }
                try check("metrics", try await server.call(.GET, "/metrics", isAdmin: true))
                try check(
                    "bootstrap",
                    try await server.call(.POST, "/admin/v1/bootstrap", ["token": "x"], isAdmin: true)
                )
                let token = try await server.admin(.POST, "/tokens", ["name": "x"])
                try check("addAdminToken", token)
                try check("listAdminTokens", try await server.admin(.GET, "/tokens"))
                try check(
                    "removeAdminToken",
                    try await server.admin(.DELETE, "/tokens/\(token["id"]?.string ?? "")")
                )
                try check("createUser", try await server.admin(.POST, "/users", ["username": "berta"]))
                try check("createUser", try await server.admin(.POST, "/users", ["username": "berta"]))
                try check("listUsers", try await server.admin(.GET, "/users"))
                let path = "/users/\(user.id)"
                try check("user", try await server.admin(.GET, path))
                try check("updateUser", try await server.admin(.PATCH, path, ["displayName": "Anna A."]))
                try check(
                    "setPassword",
                    try await server.admin(.PUT, "\(path)/password", ["new": "staples of anything"])
                )
                for body: JSONValue in [["kind": "recovery", "credentials": "end"], ["kind": "x"]] {
                    try check("createUserLink", try await server.admin(.POST, "\(path)/links", body))
                }
                let links = try await server.admin(.GET, "\(path)/links")
                try check("userLinks", links)
                let digest = links["links"]?.array?.first?["id"]?.string ?? ""
                try check("revokeUserLink", try await server.admin(.DELETE, "\(path)/links/\(digest)"))
                try check("revokeUserLink", try await server.admin(.DELETE, "\(path)/links/\(digest)"))
                try check("lockUser", try await server.admin(.POST, "\(path)/lock"))
                try check("unlockUser", try await server.admin(.POST, "\(path)/unlock"))
                try check("userSessions", try await server.admin(.GET, "\(path)/sessions"))
                try check("endUserSessions", try await server.admin(.DELETE, "\(path)/sessions"))
                try check("endUserSession", try await server.admin(.DELETE, "\(path)/sessions/AAAA"))
                try check("userCredentials", try await server.admin(.GET, "\(path)/credentials"))
                try check(
                    "suspendCredential",
                    try await server.admin(.POST, "\(path)/credentials/AAAA/suspend")
                )
                try check(
                    "restoreCredential",
                    try await server.admin(.POST, "\(path)/credentials/AAAA/restore")
                )
                try check("removeUserCredential", try await server.admin(.DELETE, "\(path)/credentials/AAAA"))
                try check("userAudit", try await server.admin(.GET, "\(path)/audit"))
                try check("audit", try await server.admin(.GET, "/audit"))
                try check(
                    "adminOpenAPI",
                    try await server.call(.GET, "/admin/v1/openapi.json", isAdmin: true)
                )
                try check("deleteUser", try await server.admin(.DELETE, path))
                let all = Set((API.operations + AdminAPI.operations).map(\.id))
                #expect(seen == all, "\(all.subtracting(seen))")
            }
        }
    }
}
