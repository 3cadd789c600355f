import Foundation
import NIOHTTP1
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Services and their secrets")
    struct ServiceTests {
        /// Secrets with characters that the form encoding changes.
        private static let billing = [
            "+ /=%41&:" + String(repeating: "b", count: 32), String(repeating: "c", count: 40),
        ]
        private static let reports = String(repeating: "r", count: 40)

        private static func basic(_ name: String, _ secret: String, encoded: Bool = false) -> String {
            func part(_ text: String) -> String {
                encoded ? text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" : text
            }
            return "Basic " + Data("\(part(name)):\(part(secret))".utf8).base64EncodedString()
        }

        private static func with(_ body: (TestServer) async throws -> Void) async throws {
            try await TestServer.with(
                { configuration in
                    let directory = "\(configuration.dataDirectory)/services"
                    try TestServer.write(
                        [
                            "billing": billing.joined(separator: "\n") + "\n", "reports": reports,
                            ".hidden": "x",
                        ],
                        to: directory
                    )
                    configuration.serviceSecretDirectory = directory
                    try TestServer.write(
                        audiences: [
                            "all": "resource = \(TestServer.audience)\nservices = billing reports service"
                        ],
                        to: configuration.dataDirectory
                    )
                },
                body
            )
        }

        private static func introspect(
            _ server: TestServer,
            _ token: String,
            _ field: String? = nil,
            _ form: [String: String] = [:]
        ) async throws -> Answer {
            let text = ([("token", token)] + form.map { ($0.key, $0.value) }).map { name, value in
                "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
            }.joined(separator: "&")
            return try await server.send(
                .POST,
                server.api + "/v1/introspect",
                field.map { ["Authorization": $0] } ?? [:],
                (Array(text.utf8), "application/x-www-form-urlencoded")
            )
        }

        @Test("each service introspects with either of its secrets: by Bearer, by Basic, and in the form")
        func methods() async throws {
            try await Self.with { server in
                let token = try await TestUser.signedIn(on: server).token(for: TestServer.audience)
                for (name, secret) in [
                    ("billing", Self.billing[0]), ("billing", Self.billing[1]), ("reports", Self.reports),
                    ("service", TestServer.serviceSecret),
                ] {
                    for answer in [
                        try await Self.introspect(server, token, "Bearer \(secret)"),
                        try await Self.introspect(server, token, Self.basic(name, secret)),
                        try await Self.introspect(
                            server,
                            token,
                            Self.basic(name, secret, encoded: true)
                        ),
                        try await Self.introspect(
                            server,
                            token,
                            nil,
                            ["client_id": name, "client_secret": secret, "token_type_hint": "access_token"]
                        ),
                        try await Self.introspect(
                            server,
                            token,
                            Self.basic(name, secret),
                            ["client_id": name]
                        ),
                    ] {
                        #expect(
                            answer.status == 200 && answer["active"]?.bool == true,
                            "\(name): \(answer.text)"
                        )
                    }
                }
            }
        }

        @Test(
            "wrong names and secrets are refused with the schemes that are there, and two ways at once are an error"
        )
        func refused() async throws {
            try await Self.with { server in
                let user = try await TestUser.signedIn(on: server)
                for (field, form) in [
                    (nil, [:]), (nil, ["client_id": "reports"]), (nil, ["client_secret": Self.reports]),
                    (nil, ["client_id": "billing", "client_secret": Self.reports]),
                    (nil, ["client_id": "reports", "client_secret": "wrong"]),
                    ("Bearer \(user.access)", [:]), (Self.basic("billing", Self.reports), [:]),
                    (Self.basic("nobody", Self.reports), [:]), (Self.basic("reports", ""), [:]),
                    ("Basic", [:]), ("Basic !", [:]),
                    ("Basic \(Data("reports".utf8).base64EncodedString())", [:]),
                    ("Basic \(Data([0xFF, 0x3A, 0xFF]).base64EncodedString())", [:]), ("Digest x", [:]),
                    // A header that is wrong is not made good by the form.
                    (Self.basic("reports", "x"), ["client_id": "reports", "client_secret": Self.reports]),
                ] as [(String?, [String: String])] {
                    let answer = try await Self.introspect(server, user.access, field, form)
                    #expect(
                        answer.status == 401 && answer.code == "invalid_client",
                        "\(field ?? "-") \(form)"
                    )
                    let challenge = answer.headers.first(name: "WWW-Authenticate") ?? ""
                    #expect(challenge.contains(#"Basic realm=""#) && challenge.contains("Bearer"))
                }
                for form in [
                    ["client_id": "reports", "client_secret": Self.reports], ["client_id": "billing"],
                ] as [[String: String]] {
                    let field = Self.basic("reports", Self.reports)
                    let answer = try await Self.introspect(server, user.access, field, form)
                    #expect(answer.status == 400 && answer.code == "invalid_request", "\(answer.text)")
                }
            }
        }

        @Test("transactions are created and read by Basic too, and the audit has the service's name")
        func transactions() async throws {
            try await Self.with { server in
                let user = try await TestUser.withPasskey(on: server)
                func send(_ method: NIOHTTP1.HTTPMethod, _ path: String, _ body: JSONValue?, _ secret: String)
                    async throws -> Answer
                {
                    try await server.send(
                        method,
                        server.api + path,
                        ["Authorization": Self.basic("billing", secret)],
                        body.map { (Array($0.text.utf8), "application/json") }
                    )
                }
                let body: JSONValue = [
                    "type": "payment", "details": ["a": "b"], "username": .string(user.name),
                ]
                let made = try await send(.POST, "/v1/transactions", body, Self.billing[1])
                #expect(made.status == 201, "\(made.text)")
                let path = "/v1/transactions/\(made["id"]?.string ?? "")"
                #expect(try await send(.GET, path, nil, Self.billing[0]).status == 200)
                #expect(try await send(.GET, path, nil, Self.reports).status == 401)
                #expect(try await send(.GET, "\(path)/evidence", nil, Self.reports).status == 401)
                #expect(try await send(.POST, "/v1/transactions", body, "x").status == 401)
                let audit = try await server.admin(.GET, "/users/\(user.id)/audit?count=100")
                let record = audit["records"]?.array?.first { $0["event"]?.string == "transaction_created" }
                #expect(record?["details"]?.string == #"{"service":"billing"}"#, "\(audit.text)")
            }
        }

        @Test(
            "the metadata names the ways to authenticate at introspection and revocation, and no empty list"
        )
        func metadata() async throws {
            try await Self.with { server in
                let document = try await server.call(.GET, "/.well-known/oauth-authorization-server")
                #expect(
                    document["introspection_endpoint_auth_methods_supported"]
                        == ["client_secret_basic", "client_secret_post", "Bearer"]
                )
                #expect(document["revocation_endpoint_auth_methods_supported"] == ["none"])
                // RFC 8414, section 3.2.
                for (name, value) in document.json?.object?.members ?? [] {
                    #expect(value.array?.isEmpty != true, "\(name)")
                }
            }
        }

        @Test("files that cannot work are refused by name")
        func files() async throws {
            try await TestServer.inDirectory { directory in
                let long = String(repeating: "x", count: 32)
                let folder = "\(directory)/services"
                for (files, mode, word) in [
                    ([:], 0o600, "has no file"), (["a": ""], 0o600, "one secret"),
                    (["a": "\(long)1\n\(long)2\n\(long)3"], 0o600, "one secret"),
                    (["a": "\(long)\nshort"], 0o600, "at least 32"), (["a": long], 0o640, "chmod 600"),
                    (["a b": long], 0o600, "service's name"), (["a~": long], 0o600, "service's name"),
                    (["a": long, "b": "\(long)0\n\(long)"], 0o600, "the same secret"),
                    (["service": "\(long)0"], 0o600, "another"),
                ] as [([String: String], Int, String)] {
                    try? FileManager.default.removeItem(atPath: folder)
                    try TestServer.write(files, to: folder, mode: mode)
                    var settings = ServerConfiguration(dataDirectory: directory)
                    settings.serviceSecretDirectory = folder
                    try TestServer.write(["own": long + "own"], to: directory)
                    settings.serviceSecretFile = "\(directory)/own"
                    let fault = #expect(throws: ConfigurationFault.self) { try ServiceSecrets(settings) }
                    #expect(fault?.description.contains(word) == true, "\(String(describing: fault))")
                    #expect(fault?.description.contains(long) == false)
                }
                // A link, as a mounted volume has.
                try? FileManager.default.removeItem(atPath: folder)
                try TestServer.write(["..data": long], to: folder)
                try FileManager.default.createSymbolicLink(
                    atPath: "\(folder)/linked",
                    withDestinationPath: "\(folder)/..data"
                )
                var settings = ServerConfiguration(dataDirectory: directory)
                settings.serviceSecretDirectory = folder
                #expect(try ServiceSecrets(settings).summary == ["linked (1)"])
            }
        }

        @Test("Authlib, as it is, discovers, introspects, refreshes and revokes")
        func authlib() async throws {
            try await TestServer.inDirectory { directory in
                let files = try TestCertificate.write(to: directory)
                let ports = try FreePorts()
                var configuration = try TestServer.configuration(directory)
                configuration.listen.port = ports.api
                configuration.publicURL = "https://localhost:\(ports.api)"
                (configuration.tlsCertificate, configuration.tlsKey) = (files.certificate, files.key)
                try TestServer.write(["billing": Self.billing[0]], to: "\(directory)/services")
                configuration.serviceSecretDirectory = "\(directory)/services"
                try TestServer.write(
                    audiences: ["billing": "resource = \(TestServer.audience)\nscopes = read write"],
                    to: directory
                )
                try await TestServer.with(configuration) { server in
                    let user = try await TestUser.make(on: server)
                    let script = URL(filePath: #filePath).deletingLastPathComponent()
                        .appending(path: "../authlib_client.py").standardizedFileURL.path
                    let (status, text) = try await SystemProgram.run(
                        "python3",
                        [
                            script, configuration.publicURL, user.name, TestUser.password, "billing",
                            Self.billing[0], TestServer.audience,
                        ],
                        environment: ["REQUESTS_CA_BUNDLE": files.certificate]
                    )
                    #expect(status == 0 && text.hasSuffix("done\n"), "\(text)")
                }
            }
        }
    }
}
