import Crypto
import NIOHTTP1
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Attested keys that are no credentials")
    struct DeviceKeyTests {
        /// What a registration sends, and what of it a case changes.
        private struct Attempt {
            var purpose = "Signing"
            var name = "orders"
            var attributes: UInt32 = 0x0006_0432
            var policy: [UInt8]?
            var isCertified = true
            var key = P256.Signing.PrivateKey()
            /// What the chip signs, if it is something else than what is sent.
            var signed: ((_ challenge: [UInt8]) -> DeviceKeyBinding)?
            var change: (JSONValue) -> JSONValue = { $0 }
        }

        private func register(
            _ user: TestUser,
            _ chip: SoftChip,
            _ certificate: [UInt8],
            _ attempt: Attempt = Attempt(),
            ceremony: Answer? = nil
        ) async throws -> Answer {
            let begun: Answer
            if let ceremony { begun = ceremony } else { begun = try await options(user) }
            let challenge = try #require(begun["publicKey"]?["challenge"]?.bytes)
            let binding =
                attempt.signed?(challenge)
                ?? DeviceKeyBinding(challenge: challenge, purpose: attempt.purpose, name: attempt.name)
            let statement = try chip.statement(
                of: attempt.key.publicKey,
                binding,
                attributes: attempt.attributes,
                policy: attempt.policy
            )
            return try await user.call(
                .POST,
                "/v1/device-keys",
                JSONValue(members: [
                    "ceremonyId": begun["ceremonyId"], "purpose": .string(attempt.purpose),
                    "name": .string(attempt.name), "attestation": attempt.change(statement),
                    "x5c": attempt.isCertified ? [JSONValue(base64URL: certificate)] : nil,
                ])
            )
        }

        private func options(_ user: TestUser) async throws -> Answer {
            let begun = try await user.call(.POST, "/v1/device-keys/options")
            #expect(begun.status == 200, "\(begun.text)")
            return begun
        }

        @Test(
            "a key that a certified TPM attests is kept with purpose and name, listed, exported and removed",
            arguments: ServerDatabase.allCases
        )
        func life(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) {
                $0.endorsement = .any
            } _: { server in
                let user = try await TestUser.signedIn(on: server)
                let chip = SoftChip()
                let certificate = try await user.certificate(of: chip)
                let attempt = Attempt()
                let made = try await register(user, chip, certificate, attempt)
                #expect(made.status == 201, "\(made.text)")
                #expect(made["purpose"]?.string == "Signing" && made["name"]?.string == "orders")
                #expect(made["publicKey"]?.bytes == Array(attempt.key.publicKey.x963Representation))
                let id = try #require(made["id"]?.string)
                #expect(made.headers.first(name: "Location") == "/v1/device-keys/\(id)")
                let list = try await user.call(.GET, "/v1/device-keys")
                #expect(list["keys"]?.array?.map { $0["id"]?.string } == [id])
                let export = try await user.call(.GET, "/v1/account/export")
                #expect(export["deviceKeys"]?.array?.count == 1)
                // It signs nobody in, and the same key is not registered twice, nor by another account.
                #expect(try await user.call(.GET, "/v1/credentials")["credentials"]?.array == [])
                let again = try await register(user, chip, certificate, attempt)
                #expect(again.status == 409 && again.code == "credential_exists", "\(again.text)")
                let stranger = try await TestUser.signedIn(on: server, "berta")
                let theirs = try await stranger.certificate(of: chip)
                #expect(try await register(stranger, chip, theirs, attempt).status == 409)
                #expect(try await stranger.call(.GET, "/v1/device-keys")["keys"]?.array == [])
                #expect(try await stranger.call(.DELETE, "/v1/device-keys/\(id)").status == 404)
                #expect(try await user.call(.DELETE, "/v1/device-keys/\(id)").status == 204)
                #expect(try await user.call(.GET, "/v1/device-keys")["keys"]?.array == [])
                let audit = try await server.audit(of: user.id)
                #expect(audit.suffix(2).contains("device_key_removed"), "\(audit)")
                #expect(audit.contains("device_key_registered"))
            }
        }

        @Test("what the TPM did not attest for this challenge, purpose and name is refused")
        func refused() async throws {
            try await TestServer.with {
                $0.endorsement = .any
            } _: { server in
                let user = try await TestUser.signedIn(on: server)
                let chip = SoftChip()
                let certificate = try await user.certificate(of: chip)
                var other = [UInt8](repeating: 0, count: 32)
                other[0] = 1
                let cases: [(String, Attempt, String)] = [
                    (
                        "another purpose",
                        Attempt(signed: { .init(challenge: $0, purpose: "Sealing", name: "orders") }),
                        "attestation_rejected"
                    ),
                    (
                        "another name",
                        Attempt(signed: { .init(challenge: $0, purpose: "Signing", name: "order") }),
                        "attestation_rejected"
                    ),
                    (
                        "another challenge",
                        Attempt(signed: { _ in .init(challenge: other, purpose: "Signing", name: "orders") }),
                        "attestation_rejected"
                    ),
                    ("a key that may leave", Attempt(attributes: 0x0006_0430), "attestation_rejected"),
                    ("a restricted key", Attempt(attributes: 0x0007_0432), "attestation_rejected"),
                    ("a policy gone round", Attempt(attributes: 0x0006_0472), "key_policy_rejected"),
                    ("another policy", Attempt(policy: other), "key_policy_rejected"),
                    (
                        "another public area",
                        Attempt(change: { Self.with("publicArea", of: $0, byte: 20) }),
                        "attestation_rejected"
                    ),
                    (
                        "another statement",
                        Attempt(change: { Self.with("statement", of: $0, byte: 12) }),
                        "attestation_rejected"
                    ),
                    (
                        "another signature",
                        Attempt(change: { Self.with("signature", of: $0, byte: 5) }),
                        "attestation_rejected"
                    ),
                    ("no statement", Attempt(change: { _ in [:] }), "attestation_rejected"),
                    ("no certificate", Attempt(isCertified: false), "attestation_rejected"),
                ]
                for (name, attempt, code) in cases {
                    let answer = try await register(user, chip, certificate, attempt)
                    #expect(answer.status == 422 && answer.code == code, "\(name): \(answer.text)")
                }
                // An attestation key that the CA did not certify signs.
                let answer = try await register(user, SoftChip(), certificate)
                #expect(answer.status == 422 && answer.code == "attestation_rejected", "\(answer.text)")
                #expect(try await user.call(.GET, "/v1/device-keys")["keys"]?.array == [])
            }
        }

        /// The statement with another byte in a member.
        private static func with(_ name: String, of statement: JSONValue, byte: Int) -> JSONValue {
            let members = statement.object?.members ?? []
            return .object(
                JSONObject(
                    members.map { member in
                        guard member.name == name, var bytes = member.value.bytes else { return member }
                        bytes[byte] ^= 1
                        return (name, JSONValue(base64URL: bytes))
                    }
                )
            )
        }

        @Test("a challenge is valid once, in its session, and only for this")
        func challenges() async throws {
            try await TestServer.with {
                $0.endorsement = .any
            } _: { server in
                let user = try await TestUser.withPasskey(on: server)
                let chip = SoftChip()
                let certificate = try await user.certificate(of: chip)
                let begun = try await options(user)
                var second = user
                try await second.signIn()
                #expect(
                    try await register(second, chip, certificate, ceremony: begun).code == "ceremony_expired"
                )
                // The attempt of the other session used it up.
                #expect(
                    try await register(user, chip, certificate, ceremony: begun).code == "ceremony_expired"
                )
                // Neither a login nor a registration takes it, and it takes none of theirs.
                let third = try await options(user)
                let challenge = try #require(third["publicKey"]?["challenge"]?.bytes)
                let login = try await server.call(
                    .POST,
                    "/v1/login",
                    ["ceremonyId": third["ceremonyId"] ?? .null, "credential": try user.assertion(challenge)]
                )
                #expect(login.status == 410, "\(login.text)")
                let credential = try await user.call(.POST, "/v1/credentials/options", ["kind": "device"])
                #expect(
                    try await register(user, chip, certificate, ceremony: credential).code
                        == "ceremony_expired"
                )
            }
        }

        @Test("keys are registered and removed only by a session that authenticated lately and holds its key")
        func stale() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.signedIn(on: server)
                try server.ageSessions()
                for (method, path) in [
                    (TestUser.HTTPMethodName.POST, "/v1/device-keys/options"), (.POST, "/v1/device-keys"),
                    (.DELETE, "/v1/device-keys/AAAA"),
                ] {
                    let answer = try await user.call(method, path, method == .POST ? [:] : nil)
                    #expect(
                        answer.status == 401 && answer.code == "insufficient_user_authentication",
                        "\(path)"
                    )
                }
                #expect(try await user.call(.GET, "/v1/device-keys").status == 200)
            }
        }
    }
}
