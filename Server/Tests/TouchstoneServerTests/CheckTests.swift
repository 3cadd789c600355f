import Foundation
import NIOHTTP1
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("What proxies ask of a token")
    struct CheckTests {
        private static let shop = "https://shop.example.org"
        private static let secret = String(repeating: "s", count: 40)

        private static func configure(_ configuration: inout ServerConfiguration) throws {
            let folder = "\(configuration.dataDirectory)/services"
            try TestServer.write(["shop": secret, "books": secret + "2"], to: folder)
            configuration.serviceSecretDirectory = folder
            try TestServer.write(
                audiences: [
                    "shop": "resource = \(shop)\nscopes = orders:read orders:write",
                    "signed": "resource = urn:signed\nscopes = orders:read\nservices = shop\nformat = jwt",
                    "proven": "resource = urn:proven\nservices = shop\ntoken-type = DPoP",
                ],
                to: configuration.dataDirectory
            )
        }

        private static func check(
            _ server: TestServer,
            _ token: String?,
            _ query: String = "",
            by service: String? = "Bearer \(secret)"
        ) async throws -> Answer {
            var headers = HTTPHeaders()
            if let token { headers.add(name: "Authorization", value: token) }
            if let service { headers.add(name: "Service-Authorization", value: service) }
            return try await server.send(.GET, server.api + "/v1/check" + query, headers)
        }

        @Test("the status says whether a token is good for the service, its scopes, class and age")
        func statuses() async throws {
            try await TestServer.with(Self.configure) { server in
                let user = try await TestUser.signedIn(on: server)
                let reading = try #require(
                    try await user.renew(audience: [("resource", Self.shop), ("scope", "orders:read")])[
                        "access_token"
                    ]?.string
                )
                let signed = try await user.token(for: "urn:signed")
                for (token, query, status, challenge) in [
                    (reading, "", 204, ""), (reading, "?scope=orders:read", 204, ""),
                    (signed, "?scope=orders:read", 204, ""),
                    (
                        reading, "?scope=orders:read%20orders:write", 403,
                        #"error="insufficient_scope", scope="orders:read orders:write""#
                    ),
                    (reading, "?scope=orders:write", 403, "insufficient_scope"),
                    (signed, "?scope=orders:write", 403, "insufficient_scope"),
                    (reading, "?acr_values=pwd", 204, ""), (reading, "?acr_values=phr%20pwd", 204, ""),
                    (reading, "?acr_values=phr&max_age=60", 401, #"acr_values="phr", max_age=60"#),
                    (reading, "?acr_values=unknown", 401, "insufficient_user_authentication"),
                    (reading, "?max_age=3600", 204, ""), (reading, "?max_age=x", 400, ""),
                    (reading, "?max_age=-1", 400, ""), (reading, "?scope=%22", 400, ""),
                    (reading, "?acr_values=a%0d%0aX:y", 400, ""),
                    (user.access, "", 401, "invalid_token"), (user.refresh, "", 401, "invalid_token"),
                    (try await user.token(for: "urn:proven"), "", 401, "invalid_token"),
                    ("x", "", 401, "invalid_token"), ("", "", 401, "Bearer"),
                ] {
                    let answer = try await Self.check(server, "Bearer \(token)", query)
                    #expect(answer.status == status, "\(query): \(answer.status) \(answer.text)")
                    let told = answer.headers.first(name: "WWW-Authenticate") ?? ""
                    #expect(challenge.isEmpty || told.contains(challenge), "\(query): \(told)")
                    let isGood = status == 204
                    #expect((answer.headers.first(name: "X-Auth-Subject") == user.id) == isGood)
                    #expect(answer.headers.contains(name: "X-Auth-Scope") == isGood)
                }
                let good = try await Self.check(server, "Bearer \(reading)")
                #expect(good.headers.first(name: "X-Auth-Scope") == "orders:read")
                #expect(good.headers.first(name: "X-Auth-Acr") == "pwd")
                #expect(good.headers.first(name: "X-Auth-Session")?.isEmpty == false)
                #expect(try await Self.check(server, nil).status == 401)
                #expect(try await Self.check(server, "Basic \(reading)").status == 401)
                // Another service, and none: not a status that a proxy passes to its client.
                #expect(
                    try await Self.check(server, "Bearer \(reading)", by: "Bearer \(Self.secret)2").status
                        == 401
                )
                let basic = "Basic " + Data("shop:\(Self.secret)".utf8).base64EncodedString()
                #expect(try await Self.check(server, "Bearer \(reading)", by: basic).status == 204)
                for wrong in [nil, "Bearer x", "Bearer \(reading)", "Basic !", ""] {
                    #expect(try await Self.check(server, "Bearer \(reading)", by: wrong).status == 400)
                }
                #expect(try await server.form("/v1/revoke", ["token": reading]).status == 200)
                #expect(try await Self.check(server, "Bearer \(reading)").status == 401)
            }
        }

        @Test("nginx with the configuration of the guide lets in whom the server lets in")
        func nginx() async throws {
            try await TestServer.with(Self.configure) { server in
                let user = try await TestUser.signedIn(on: server)
                let guide = try Guide.block(after: "<!-- nginx -->")
                try await TestServer.inDirectory { directory in
                    let ports = try FreePorts()
                    let block =
                        guide
                        .replacing("https://accounts.example.org", with: server.api)
                        .replacing("the secret of the service", with: Self.secret)
                        .replacing("http://127.0.0.1:3000", with: "http://127.0.0.1:\(ports.admin)")
                    #expect(
                        block.contains(Self.secret) && block.contains(server.api)
                            && block.contains("\(ports.admin)")
                    )
                    // The service behind the proxy, which shows what it gets.
                    try TestServer.write(
                        [
                            "nginx.conf": """
                            daemon off; pid \(directory)/pid; error_log \(directory)/error.log;
                            events {}
                            http {
                                access_log off;
                                client_body_temp_path \(directory)/body; proxy_temp_path \(directory)/proxy;
                                fastcgi_temp_path \(directory)/fastcgi; uwsgi_temp_path \(directory)/uwsgi;
                                scgi_temp_path \(directory)/scgi;
                                server {
                                    listen 127.0.0.1:\(ports.admin);
                                    return 200 "for $http_x_auth_subject";
                                }
                                server {
                                    listen 127.0.0.1:\(ports.api);
                                    \(block)
                                }
                            }
                            """
                        ],
                        to: directory
                    )
                    let process = Process()
                    process.executableURL = URL(filePath: "/usr/sbin/nginx")
                    process.arguments = ["-c", "\(directory)/nginx.conf", "-e", "\(directory)/error.log"]
                    try process.run()
                    defer {
                        process.terminate()
                        process.waitUntilExit()
                    }
                    let site = "http://127.0.0.1:\(ports.api)"
                    func get(_ path: String, _ token: String?) async throws -> Answer {
                        var headers: HTTPHeaders = [
                            "X-Auth-Subject": "forged", "Service-Authorization": "Bearer x",
                        ]
                        if let token { headers.add(name: "Authorization", value: "Bearer \(token)") }
                        while true {
                            do { return try await server.send(.GET, site + path, headers) } catch {
                                guard process.isRunning else { throw error }
                                try await Task.sleep(for: .milliseconds(20))
                            }
                        }
                    }
                    let both = try await user.token(for: Self.shop)
                    let reading = try #require(
                        try await user.renew(audience: [("resource", Self.shop), ("scope", "orders:read")])[
                            "access_token"
                        ]?
                        .string
                    )
                    let good = try await get("/orders/1", reading)
                    #expect(good.status == 200 && good.text == "for \(user.id)", "\(good.text)")
                    #expect(try await get("/orders/1", nil).status == 401)
                    #expect(try await get("/orders/1", user.access).status == 401)
                    // The guide's second path needs another scope, and a passkey.
                    #expect(try await get("/payments/1", reading).status == 403)
                    let weak = try await get("/payments/1", both)
                    #expect(weak.status == 401)
                    let challenge = weak.headers.first(name: "WWW-Authenticate") ?? ""
                    #expect(
                        challenge.contains("insufficient_user_authentication") && challenge.contains("phr"),
                        "\(challenge)"
                    )
                    let strong = try await TestUser.withPasskey(on: server, "berta")
                    var opened = strong
                    try opened.take(try await strong.logInByPasskey())
                    let token = try await opened.token(for: Self.shop)
                    let paid = try await get("/payments/1", token)
                    #expect(paid.status == 200 && paid.text == "for \(strong.id)", "\(paid.text)")
                }
            }
        }
    }
}
