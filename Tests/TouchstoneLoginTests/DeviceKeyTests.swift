import Foundation
import Testing
import Touchstone
import TouchstoneTesting
import WebAuthnModel

@testable import TouchstoneLogin

@Suite("Keys of a device that are no credentials", .server, .serialized, .timeLimit(.minutes(20)))
struct DeviceKeyTests {
    @Test("the server keeps a key that the TPM attests for its challenge, purpose and name, and nothing else")
    func registration() async throws {
        let world = try await LoginWorld(chip: .prepared(), settings: ["endorsement": "any"])
        try await world.keychain.use {
            let session = try await world.session(world.login(.passcode))
            let access = try await session.accessToken()
            let first = try await session.deviceKeyChallenge()
            #expect(first.challenge.count == 32 && first.expires > .now)
            let key = try await DeviceSigningKey.create(
                "orders",
                rule: .passcode,
                challenge: first.challenge
            )
            try await session.register(key, for: first)
            let keys = try world.call("GET", "/v1/device-keys", access)["keys"]?.array
            #expect(keys?.count == 1 && keys?[0].object?["name"]?.string == "orders")
            #expect(keys?[0].object?["purpose"]?.string == "Signing")
            #expect(keys?[0].object?["publicKey"]?.bytes == Array(key.publicKey.x963Representation))

            // A challenge is valid once, and for the key that was made with it.
            let replayed = await failure { () async throws(TouchstoneError) in
                try await session.register(key, for: first)
            }
            #expect(replayed == .replayed)
            let second = try await session.deviceKeyChallenge()
            let other = await failure { () async throws(TouchstoneError) in
                try await session.register(key, for: second)
            }
            #expect(other == .refused && other?.cause == "attestation_rejected")
            // For another purpose or name it is no attestation.
            let certificates = try await session.attestationCertificates()
            for (made, purpose, name) in [
                ("a", "Signing", "a"), ("b", "Sealing", "payments"), ("c", "Sealing", "c"),
            ] {
                let challenge = try await session.deviceKeyChallenge()
                let sealing = try await DeviceSealingKey.create(
                    made,
                    rule: .passcode,
                    challenge: challenge.challenge
                )
                let statement = try JSONValue(parsing: Array(try #require(sealing.attestation).statement))
                let error = await failure { () async throws(TouchstoneError) in
                    try await session.call(
                        "POST",
                        "/v1/device-keys",
                        [
                            "ceremonyId": .string(challenge.ceremony), "purpose": .string(purpose),
                            "name": .string(name), "attestation": statement,
                            "x5c": .array(certificates.map { JSONValue(base64URL: $0) }),
                        ],
                        isBound: true
                    )
                }
                #expect(error?.cause == (made == "c" ? nil : "attestation_rejected"), "\(made)")
            }
            #expect(try world.call("GET", "/v1/device-keys", access)["keys"]?.array?.count == 2)
        }
    }

    @Test("a key without a chip is not sent")
    func software() async throws {
        let world = try await LoginWorld()
        try await world.keychain.use {
            let session = try await world.session(world.login(.passcode))
            let challenge = try await session.deviceKeyChallenge()
            let key = try await DeviceSigningKey.create(
                "orders",
                rule: .passcode,
                challenge: challenge.challenge
            )
            let refused = await failure { () async throws(TouchstoneError) in
                try await session.register(key, for: challenge)
            }
            #expect(refused == .hardwareTooWeak)
            #expect(!world.relay.exchanges.contains { $0.path == "/v1/device-keys" && $0.method == "POST" })
        }
    }
}
