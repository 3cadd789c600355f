import NIOHTTP1
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("What the owner of a device consented to")
    struct ConsentTests {
        private static let signed: JSONValue = [
            "text": ["Example Bank", "Sign in by finger from now on"], "label": "Laptop",
            "rule": "biometry", "server": "https://example.org", "language": "ja_JP.UTF-8",
            "time": 1_700_000_000,
        ]

        /// The signed consent with another value of a member.
        private static func with(_ name: String, _ value: JSONValue?) -> JSONValue {
            var members = signed.object?.members.filter { $0.name != name } ?? []
            if let value { members.append((name, value)) }
            return .object(JSONObject(members))
        }

        /// Registers a device that signed this consent, and returns what is kept of it.
        private func kept(_ consent: JSONValue?, _ user: inout TestUser) async throws -> JSONValue? {
            user.authenticator = TestUser.authenticator()
            user.state(Stated(consent: consent))
            let answer = try await user.register("device")
            #expect(answer.status == 201, "\(answer.text)")
            return answer["consent"]
        }

        @Test(
            "it is kept with the credential, in the audit, and shown to owner and administrator",
            arguments: ServerDatabase.allCases
        )
        func record(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) { server in
                var user = try await TestUser.signedIn(on: server)
                let signed = try Self.sorted(Self.signed)
                #expect(try await kept(Self.signed, &user) == signed)
                let text = String(decoding: try CanonicalJSON.encode(Self.signed), as: UTF8.self)
                let audit = try await server.admin(.GET, "/users/\(user.id)/audit?count=1000")
                let event = audit["records"]?.array?.first {
                    $0["event"]?.string == "credential_registered"
                }
                #expect(event?["details"]?.string == #"{"consent":\#(text)}"#)
                let export = try await user.call(.GET, "/v1/account/export")
                #expect(export["credentials"]?.array?.last?["consent"] == signed)
                #expect(
                    export["audit"]?.array?.contains { $0["details"]?.string == #"{"consent":\#(text)}"# }
                        == true
                )
                let list = try await server.admin(.GET, "/users/\(user.id)/credentials")
                #expect(list["credentials"]?.array?.last?["consent"]?["label"]?.string == "Laptop")
                // It stays as it was signed.
                user.state(Stated(consent: Self.with("label", "Other")))
                #expect(try await user.logInByPasskey(signCount: 2).status == 200)
                let id = Base64URL.encode(user.authenticator.credentialId)
                let later = try await user.call(.GET, "/v1/credentials/\(id)")
                #expect(later["consent"]?["label"]?.string == "Laptop")
            }
        }

        private static func sorted(_ value: JSONValue) throws -> JSONValue {
            try JSONValue(parsing: CanonicalJSON.encode(value))
        }

        @Test("what is not in its form is not kept, and what a line cannot show is replaced")
        func hostile() async throws {
            try await TestServer.with { server in
                var user = try await TestUser.signedIn(on: server)
                let long = JSONValue.string(String(repeating: "a", count: 2049))
                let wrong: [JSONValue?] = [
                    nil, "yes", [], [:], Self.with("text", nil), Self.with("text", "a"),
                    Self.with("text", []),
                    Self.with("text", [1]), Self.with("text", [long]),
                    Self.with("text", .array(Array(repeating: "a", count: 12))), Self.with("label", nil),
                    Self.with("label", .string(String(repeating: "a", count: 129))),
                    Self.with("rule", 1), Self.with("server", nil), Self.with("language", 1),
                    Self.with("time", "now"), Self.with("time", -1), Self.with("time", nil),
                ]
                for (number, consent) in wrong.enumerated() {
                    #expect(try await kept(consent, &user) == nil, "\(number)")
                    // An account has at most so many.
                    let id = Base64URL.encode(user.authenticator.credentialId)
                    #expect(try await user.call(.DELETE, "/v1/credentials/\(id)").status == 204)
                }
                let shown = try await kept(Self.with("text", ["a\u{1B}[2J\u{202E}b"]), &user)
                #expect(shown?["text"] == ["a\u{FFFD}[2J\u{FFFD}b"])
                let english = try await kept(Self.with("language", nil), &user)
                #expect(english?["language"]?.string == "en")
            }
        }
    }
}
