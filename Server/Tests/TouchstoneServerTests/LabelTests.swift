import AccountStore
import Foundation
import NIOHTTP1
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Labels of credentials")
    struct LabelTests {
        /// Registers another credential, and returns its label and id.
        private static func add(
            _ user: TestUser,
            label: String?,
            at end: Bool = false,
            kind: String = "passkey",
            aaguid: String? = nil
        ) async throws -> (label: String, id: String) {
            var user = user
            user.authenticator = TestUser.authenticator()
            if let aaguid {
                user.authenticator.aaguid = try #require(UUID(uuidString: aaguid)).bytes
            }
            func body(_ others: [(name: String, value: JSONValue)], isNamed: Bool) -> JSONValue {
                let named = label.flatMap { isNamed ? ("label", .string($0)) : nil } as (String, JSONValue)?
                return .object(JSONObject(others + (named.map { [$0] } ?? [])))
            }
            let begun = try await user.call(
                .POST,
                "/v1/credentials/options",
                body([("kind", .string(kind))], isNamed: !end)
            )
            let answer = try await user.call(
                .POST,
                "/v1/credentials",
                body(user.registration(begun).object?.members ?? [], isNamed: end)
            )
            #expect(answer.status == 201, "\(answer.text)")
            return (answer["label"]?.string ?? "", answer["id"]?.string ?? "")
        }

        private static let google = "ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4"
        private static let none = "00000000-0000-0000-0000-000000000000"

        @Test("a label that is there gets a number, whether given first, last or by a rename")
        func numbers() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.signedIn(on: server)
                #expect(try await Self.add(user, label: "Phone").label == "Phone")
                let second = try await Self.add(user, label: "Phone", at: true)
                #expect(second.label == "Phone 2")
                let third = try await Self.add(user, label: "Phone", kind: "passkey")
                #expect(third.label == "Phone 3")
                #expect(try await user.call(.DELETE, "/v1/credentials/\(second.id)").status == 204)
                #expect(try await Self.add(user, label: "Phone").label == "Phone 2")
                func rename(_ label: String) async throws -> String? {
                    try await user.call(.PATCH, "/v1/credentials/\(third.id)", ["label": .string(label)])[
                        "label"
                    ]?
                    .string
                }
                #expect(try await rename("Phone 3") == "Phone 3")
                #expect(try await rename("Tablet") == "Tablet")
                #expect(try await rename("Phone") == "Phone 3")
                #expect(try await rename("phone") == "phone")
                let long = String(repeating: "é", count: 64)
                #expect(try await Self.add(user, label: long).label == long)
                #expect(
                    try await Self.add(user, label: long).label == String(repeating: "é", count: 63) + " 2"
                )
                // What the answers said is what is stored.
                let labels = try await user.call(.GET, "/v1/credentials")["credentials"]?.array?.compactMap {
                    $0["label"]?.string
                }
                #expect(Set(labels ?? []).count == 5 && labels?.count == 5, "\(labels ?? [])")
                // Accounts do not count for one another.
                let other = try await TestUser.signedIn(on: server, "berta")
                #expect(try await Self.add(other, label: "Phone").label == "Phone")
            }
        }

        @Test("a passkey without a label gets its provider's name, if that is known")
        func providers() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.signedIn(on: server)
                for (kind, aaguid, label, expected) in [
                    ("passkey", Self.google, nil, "Google Password Manager"),
                    ("passkey", Self.google, nil, "Google Password Manager 2"),
                    ("passkey", Self.google, "Mine", "Mine"), ("passkey", Self.none, nil, "Passkey"),
                    ("passkey", Self.none, nil, "Passkey 2"),
                    ("passkey", "07070707-0707-0707-0707-070707070707", nil, "Passkey 3"),
                    ("device", Self.google, nil, "Device"),
                ] as [(String, String, String?, String)] {
                    let made = try await Self.add(user, label: label, kind: kind, aaguid: aaguid)
                    #expect(made.label == expected)
                }
            }
        }
    }

    @Suite("Options that tell nothing")
    struct HintTests {
        @Test("with passkey-hints = off the options for any name are those without one, and cost the same")
        func hints() async throws {
            try await TestServer.with {
                $0.passkeyHints = false
            } _: { server in
                let user = try await TestUser.withPasskey(on: server)
                let bare = try await TestUser.make(on: server, "bare")
                let other = try await TestUser.withPasskey(on: server, "other")
                var answers: Set<String> = []
                var work: Set<[Int]> = []
                for name in [user.name, bare.name, "nobody", "a b", "ａｎｎａ", nil] {
                    let before = server.program.store.statistics
                    let answer = try await user.options(
                        name.map { ["username": .string($0)] } ?? [:]
                    )
                    let after = server.program.store.statistics
                    work.insert([after.reads - before.reads, after.writes - before.writes])
                    #expect(answer.status == 200)
                    #expect(
                        answer["publicKey"]?["allowCredentials"]?.array?.isEmpty == true,
                        "\(answer.text)"
                    )
                    // Without what is random.
                    let members = (answer["publicKey"]?.object?.members ?? []).filter {
                        $0.name != "challenge"
                    }
                    answers.insert(JSONValue.object(JSONObject(members)).text)
                }
                #expect(answers.count == 1, "\(answers)")
                #expect(work.count == 1, "\(work)")
                #expect(try await user.logInByPasskey().status == 200)
                // Whose passkey signs is signed in, whether the name is known or not: neither tells.
                for name in [user.name, "nobody"] {
                    let begun = try await other.options(["username": .string(name)])
                    let challenge = try #require(begun["publicKey"]?["challenge"]?.bytes)
                    let answer = try await server.call(
                        .POST,
                        "/v1/login",
                        [
                            "ceremonyId": begun["ceremonyId"] ?? .null,
                            "credential": try other.assertion(challenge, signCount: name == "nobody" ? 3 : 2),
                        ],
                        key: other.key
                    )
                    #expect(answer.status == 200, "\(name): \(answer.text)")
                    let me = try await server.call(.GET, "/v1/me", token: answer["access_token"]?.string)
                    #expect(me["username"]?.string == "other")
                }
                // An authentication again is of the caller, who knows the account.
                let again = try await user.call(.POST, "/v1/login/options", ["purpose": "reauth"])
                #expect(again["publicKey"]?["allowCredentials"]?.array?.count == 1)
            }
        }

        @Test("passkey-hints is on by default, and on or off")
        func setting() throws {
            func read(_ value: String?) throws -> Bool {
                try ServerConfiguration.read(
                    file: nil,
                    environment: value.map { ["TOUCHSTONE_SERVER_PASSKEY_HINTS": $0] } ?? [:]
                ).passkeyHints
            }
            #expect(try read(nil) && read("on"))
            #expect(try !read("off"))
            #expect(throws: ConfigurationFault.self) { try read("no") }
        }
    }
}

extension UUID {
    fileprivate var bytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }
}
