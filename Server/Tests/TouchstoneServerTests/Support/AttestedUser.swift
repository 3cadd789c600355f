import RelyingParty
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

/// What a device states of a use.
struct Stated {
    var level = "high"
    var facts = ["currentSet", "keyBound", "perUse", "strongSensor"]
    var enrolment: JSONValue? = JSONValue(base64URL: [UInt8](repeating: 1, count: 32))
    var reader: JSONValue? = ["name": "A reader", "grade": "strong"]
    var tpm: JSONValue? = ["manufacturer": "IFX", "model": "SLB9672", "firmware": "16.10"]
    var consent: JSONValue?

    var member: (name: String, value: JSONValue) {
        (
            "touchstone",
            JSONValue(members: [
                "level": .string(level), "facts": .array(facts.map { .string($0) }), "method": "fingerprint",
                "hardware": "hardware", "enrolment": enrolment, "reader": reader, "tpm": tpm,
                "consent": consent,
            ])
        )
    }
}

extension TestUser {
    /// The certificate of a chip's attestation key by the server's CA.
    func certificate(of chip: SoftChip) async throws -> [UInt8] {
        let begun = try await call(
            .POST,
            "/v1/attestation/ak",
            [
                "ekPublic": JSONValue(base64URL: chip.endorsementArea),
                "akPublic": JSONValue(base64URL: chip.attestationArea()),
            ]
        )
        #expect(begun.status == 201, "\(begun.text)")
        let secret = try chip.activate(
            try #require(begun["credentialBlob"]?.bytes),
            try #require(begun["encryptedSecret"]?.bytes),
            name: SoftChip.name(chip.attestationArea())
        )
        let certified = try await call(
            .POST,
            "/v1/attestation/ak/\(begun["id"]?.string ?? "")",
            ["secret": JSONValue(base64URL: try #require(secret))]
        )
        return try #require(certified["x5c"]?.array?.first?.bytes, "\(certified.text)")
    }

    /// Registers a device whose key a chip attests, which the server's CA certified before.
    mutating func registerDevice(_ chip: SoftChip, stating stated: Stated? = Stated()) async throws -> Answer
    {
        let certificate = try await certificate(of: chip)
        let options = try await call(
            .POST,
            "/v1/credentials/options",
            ["kind": "device", "hardware": "hardware"]
        )
        #expect(options.status == 200, "\(options.text)")
        state(stated)
        return try await call(
            .POST,
            "/v1/credentials",
            chip.registration(self, options, certificate: certificate)
        )
    }

    /// What the next use of the key states; nil: nothing.
    mutating func state(_ stated: Stated?) {
        authenticator.otherMembers = stated.map { [$0.member] } ?? []
    }
}
