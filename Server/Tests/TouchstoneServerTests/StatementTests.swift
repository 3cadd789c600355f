import NIOHTTP1
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("What a device says of itself")
    struct StatementTests {
        private static let other = JSONValue(base64URL: [UInt8](repeating: 2, count: 32))

        @Test(
            "it is kept with the credential, shown to owner and administrator, and what changed is an event",
            arguments: ServerDatabase.allCases
        )
        func changes(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) {
                $0.endorsement = .any
            } _: { server in
                var user = try await TestUser.signedIn(on: server)
                let registered = try await user.registerDevice(SoftChip())
                let path = "/v1/credentials/\(registered["id"]?.string ?? "")"
                let first = Stated()
                let kept = try await user.call(.GET, path)["statement"]
                #expect(kept?["reader"]?["name"]?.string == "A reader")
                #expect(kept?["enrolment"] == first.enrolment && kept?["level"]?.string == "high")
                let steps: [(Stated?, String?)] = [
                    (first, nil), (Stated(level: "substantial"), nil),
                    (Stated(enrolment: Self.other), "enrolment"), (Stated(enrolment: Self.other), nil),
                    (
                        Stated(enrolment: Self.other, reader: ["name": "A reader", "grade": "weak"]), "reader"
                    ),
                    (Stated(enrolment: Self.other, reader: .null, tpm: .null), "reader,tpm"),
                    // What says nothing of them has not changed them.
                    (nil, nil), (Stated(enrolment: nil, reader: nil, tpm: nil), nil),
                ]
                var expected: [String] = []
                for (number, (stated, reason)) in steps.enumerated() {
                    user.state(stated)
                    let answer = try await user.logInByPasskey(signCount: UInt32(2 + number))
                    #expect(answer.status == 200, "\(answer.text)")
                    expected += reason.map { ["credential_device_changed \($0)"] } ?? []
                    let events = try await server.audit(of: user.id)
                        .filter { $0.hasPrefix("credential_device_changed") }
                    #expect(events == expected, "step \(number)")
                }
                let list = try await server.admin(.GET, "/users/\(user.id)/credentials")
                #expect(list["credentials"]?.array?.first?["statement"]?["level"]?.string == "high")
                let audit = try await server.admin(.GET, "/users/\(user.id)/audit?count=1000")
                let event = audit["records"]?.array?.first { $0["reason"]?.string == "reader" }
                #expect(
                    event?["details"]?.string == """
                        {"former":{"reader":{"grade":"strong","name":"A reader"}},\
                        "present":{"reader":{"grade":"weak","name":"A reader"}}}
                        """
                )
                let export = try await user.call(.GET, "/v1/account/export")
                #expect(export["credentials"]?.array?.first?["statement"]?["hardware"]?.string == "hardware")
            }
        }

        @Test("a change that an approval or an authentication again states is an event too")
        func otherCeremonies() async throws {
            try await TestServer.with { server in
                var user = try await TestUser.withPasskey(on: server)
                user.state(Stated())
                try user.take(try await user.logInByPasskey(signCount: 2))
                user.state(Stated(enrolment: Self.other))
                let made = try await user.call(.POST, "/v1/transactions", ["type": "x", "details": [:]])
                let challenge = try #require(made["publicKey"]?["challenge"]?.bytes)
                let approved = try await user.call(
                    .POST,
                    "/v1/transactions/\(made["id"]?.string ?? "")/approval",
                    ["credential": try user.assertion(challenge, signCount: 3)]
                )
                #expect(approved.status == 200, "\(approved.text)")
                user.state(Stated(enrolment: Self.other, tpm: .null))
                let begun = try await user.call(.POST, "/v1/login/options", ["purpose": "reauth"])
                let again = try #require(begun["publicKey"]?["challenge"]?.bytes)
                let renewed = try await user.call(
                    .POST,
                    "/v1/login",
                    [
                        "ceremonyId": begun["ceremonyId"] ?? .null,
                        "credential": try user.assertion(again, signCount: 4),
                    ]
                )
                #expect(renewed.status == 200, "\(renewed.text)")
                let events = try await server.audit(of: user.id)
                    .filter { $0.hasPrefix("credential_device_changed") }
                #expect(events == ["credential_device_changed enrolment", "credential_device_changed tpm"])
            }
        }

        @Test("a refused use changes nothing of what is kept")
        func refused() async throws {
            try await TestServer.with { server in
                var user = try await TestUser.withPasskey(on: server)
                user.state(Stated())
                #expect(try await user.logInByPasskey(signCount: 5).status == 200)
                user.state(Stated(enrolment: Self.other))
                #expect(try await user.logInByPasskey(signCount: 5).status == 401)
                let id = Base64URL.encode(user.authenticator.credentialId)
                let kept = try await user.call(.GET, "/v1/credentials/\(id)")["statement"]
                #expect(kept?["enrolment"] == Stated().enrolment)
                let events = try await server.audit(of: user.id)
                #expect(!events.contains { $0.hasPrefix("credential_device_changed") })
            }
        }
    }
}
