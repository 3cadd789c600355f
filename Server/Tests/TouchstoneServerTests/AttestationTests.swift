import AccountStore
import Crypto
import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import SwiftASN1
import Testing
import WebAuthnModel
import WebAuthnTestKit
import X509

@testable import TouchstoneServer

extension ServerTests {
    @Suite("The attestation CA")
    struct AttestationTests {
        private func begin(_ user: TestUser, _ chip: SoftChip, attributes: UInt32 = 0x0005_0072) async throws
            -> Answer
        {
            try await user.call(
                .POST,
                "/v1/attestation/ak",
                [
                    "ekPublic": JSONValue(base64URL: chip.endorsementArea),
                    "akPublic": JSONValue(base64URL: chip.attestationArea(attributes: attributes)),
                ]
            )
        }

        private func certificate(_ user: TestUser, _ chip: SoftChip) async throws -> [UInt8] {
            let begun = try await begin(user, chip)
            #expect(begun.status == 201, "\(begun.text)")
            let secret = try chip.activate(
                try #require(begun["credentialBlob"]?.bytes),
                try #require(begun["encryptedSecret"]?.bytes),
                name: SoftChip.name(chip.attestationArea())
            )
            let answer = try await user.call(
                .POST,
                "/v1/attestation/ak/\(begun["id"]?.string ?? "")",
                ["secret": JSONValue(base64URL: try #require(secret))]
            )
            #expect(answer.status == 200, "\(answer.text)")
            return try #require(answer["x5c"]?.array?.first?.bytes)
        }

        @Test("a TPM that activates its credential gets a certificate, and its keys count as hardware-bound")
        func wholeChain() async throws {
            try await TestServer.with {
                $0.endorsement = .any
                $0.deviceAttestation = .policy
            } _: { server in
                var user = try await TestUser.signedIn(on: server)
                let chip = SoftChip()
                let certificate = try await certificate(user, chip)
                let begun = try await user.call(.POST, "/v1/credentials/options", ["kind": "device"])
                #expect(begun["publicKey"]?["attestation"]?.string == "direct")
                let body = try chip.registration(user, begun, certificate: certificate)
                let registered = try await user.call(.POST, "/v1/credentials", body)
                #expect(registered.status == 201, "\(registered.text)")
                #expect(registered["assurance"]?.string == "tpm")
                #expect(registered["uvEvidence"]?.string == "tpm_policy")
                let login = try await user.logInByPasskey()
                #expect(login["acr"]?.string == "phrh")
                #expect(login["amr"] == ["pop", "hwk", "user"])
                // Another key of the same TPM supersedes the first: the device anchor is the TPM's.
                user.authenticator = TestUser.authenticator()
                let again = try await user.call(.POST, "/v1/credentials/options", ["kind": "device"])
                let second = try chip.registration(user, again, certificate: certificate)
                #expect(try await user.call(.POST, "/v1/credentials", second).status == 201)
                let list = try await user.call(.GET, "/v1/credentials")["credentials"]?.array ?? []
                #expect(list.map { $0["suspension"]?.string } == ["superseded", nil])
                // The policy that the client sends must be the key's.
                user.authenticator = TestUser.authenticator()
                let third = try await user.call(.POST, "/v1/credentials/options", ["kind": "device"])
                let text = try chip.registration(user, third, certificate: certificate).text
                    .replacing("\"command\":363", with: "\"command\":364")
                let changed = try JSONValue(parsing: Array(text.utf8))
                let refused = try await user.call(.POST, "/v1/credentials", changed)
                #expect(refused.status == 422 && refused.code == "key_policy_rejected", "\(refused.text)")
            }
        }

        @Test("an activation secret works once, for its account, and a wrong secret consumes it")
        func once() async throws {
            try await TestServer.with {
                $0.endorsement = .any
            } _: { server in
                let user = try await TestUser.signedIn(on: server)
                let stranger = try await TestUser.signedIn(on: server, "berta")
                let chip = SoftChip()
                let begun = try await begin(user, chip)
                let path = "/v1/attestation/ak/\(begun["id"]?.string ?? "")"
                let guess: JSONValue = ["secret": JSONValue(base64URL: [UInt8](repeating: 0, count: 32))]
                #expect(try await stranger.call(.POST, path, guess).status == 410)
                let wrong = try await user.call(.POST, path, guess)
                #expect(wrong.status == 422 && wrong.code == "attestation_rejected")
                #expect(try await user.call(.POST, path, guess).status == 410)
                // An unrestricted key signs anything, so its attestation is worthless.
                for attributes: UInt32 in [0x0004_0072, 0x0005_0070, 0x0001_0072] {
                    #expect(try await begin(user, chip, attributes: attributes).status == 422)
                }
            }
        }

        @Test("TPMs that are not on the list are refused, and all are when no list is configured")
        func trust() async throws {
            let chip = SoftChip()
            try await TestServer.with { server in
                let user = try await TestUser.signedIn(on: server)
                let answer = try await begin(user, chip)
                #expect(answer.status == 422 && answer.code == "attestation_untrusted")
            }
            let anchor = SHA256.hash(data: chip.endorsementKey.publicKey.derRepresentation)
                .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            try await TestServer.with {
                $0.endorsement = .list
                let path = "\($0.dataDirectory)/chips"
                try "# one chip\n\(anchor)\n".write(toFile: path, atomically: true, encoding: .utf8)
                $0.endorsementList = path
            } _: { server in
                let user = try await TestUser.signedIn(on: server)
                _ = try await certificate(user, chip)
                #expect(try await begin(user, SoftChip()).code == "attestation_untrusted")
            }
        }
    }
}
