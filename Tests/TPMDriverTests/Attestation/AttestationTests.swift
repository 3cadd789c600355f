import CBOR
import Crypto
import Foundation
import KeychainModel
import SecretMemory
import TPMDriver
import Testing
import TouchstoneTesting
import WebAuthnModel

@Suite("Attestation of a TPM key")
struct AttestationTests {
    private let nonce = Array(SHA256.hash(data: Array("a server's nonce".utf8)))

    @Test("the manufacturer's certificate contains the endorsement key")
    func certificate() async throws {
        let world = try await KeyWorld.start(.certified(1))
        let identity = try await world.attester.attestationIdentity()
        #expect(identity.level == .ekCertificate)
        let certificate = try #require(identity.certificates.first)
        let authority = try await SoftwareTPM.authority()
        #expect(try await OpenSSL.vouches(authority, for: certificate))
        var changed = certificate
        changed[changed.count - 1] ^= 1
        #expect(try await !OpenSSL.vouches(authority, for: changed))
        let key = try KeyArea(identity.endorsementKey)
        #expect(Data(certificate).range(of: Data(key.x963)) != nil)
        // A second call gives the same identity without a command.
        let before = await world.tpm.commandCount
        #expect(try await world.attester.attestationIdentity() == identity)
        #expect(await world.tpm.commandCount == before)
    }

    @Test("a TPM without a certificate is identified by its endorsement key, and no two TPMs are alike")
    func firstUse() async throws {
        let world = try await KeyWorld.start()
        let other = try await KeyWorld.start()
        let identity = try await world.attester.attestationIdentity()
        let otherIdentity = try await other.attester.attestationIdentity()
        #expect(identity.level == .firstUse)
        #expect(identity.endorsementKey != otherIdentity.endorsementKey)
        #expect(identity.attestationKey != otherIdentity.attestationKey)
        await world.tpm.close()
        try await world.chip.reset()
        #expect(try await TPMKeyAttester(world.tpm).attestationIdentity() == identity)
    }

    @Test(
        "a credential for the attestation key gives its secret back",
        arguments: [SoftwareTPM.Chip.blank, .certified(1)]
    )
    func activation(chip: SoftwareTPM.Chip) async throws {
        let world = try await KeyWorld.start(chip)
        let identity = try await world.attester.attestationIdentity()
        let name = try KeyArea(identity.attestationKey).name
        for count in [1, 16, 32] {
            let secret = [UInt8](repeating: 0x5A, count: count)
            let challenge = try RelyingParty.makeCredential(secret, for: name, to: identity.endorsementKey)
            // A daemon restarted in between has no state.
            let octets = try await TPMKeyAttester(world.tpm).activate(challenge).octets
            #expect(octets == secret)
        }
    }

    @Test(
        "a credential to an RSA endorsement key gives its secret back if only that key has a certificate"
    )
    func activationRSA() async throws {
        let world = try await KeyWorld.start(.certified(1))
        // The platform removes the certificate of the preferred key.
        try await TPM2Tools.run("nvundefine", ["-C", "p", "0x01c00016"], world.chip)
        let identity = try await world.attester.attestationIdentity()
        #expect(identity.level == .ekCertificate)
        let certificate = try #require(identity.certificates.first)
        #expect(try await OpenSSL.vouches(try await SoftwareTPM.authority(), for: certificate))
        guard case .rsa(let modulus) = try KeyArea(identity.endorsementKey).key else {
            Issue.record("not an RSA key")
            return
        }
        #expect(Data(certificate).range(of: Data(modulus)) != nil)
        let secret = [UInt8](repeating: 0x5A, count: 32)
        let challenge = try await RelyingParty.makeCredential(
            secret,
            for: try KeyArea(identity.attestationKey).name,
            toCertified: certificate
        )
        #expect(try await world.attester.activate(challenge).octets == secret)
    }

    @Test("a credential for another attestation key or TPM, or an altered one, gives nothing")
    func refusedActivation() async throws {
        let world = try await KeyWorld.start()
        let other = try await KeyWorld.start()
        let identity = try await world.attester.attestationIdentity()
        let otherIdentity = try await other.attester.attestationIdentity()
        let name = try KeyArea(identity.attestationKey).name
        let otherName = try KeyArea(otherIdentity.attestationKey).name
        let secret = [UInt8](repeating: 0x5A, count: 32)
        func expectRefusal(_ challenge: ActivationChallenge, _ status: Status, _ cause: String) async {
            let error = await #expect(throws: KeychainError.self) {
                _ = try await world.attester.activate(challenge)
            }
            #expect(error?.status == status)
            #expect(error?.cause?.code.hasPrefix(cause) ?? cause.isEmpty)
        }
        let good = try RelyingParty.makeCredential(secret, for: name, to: identity.endorsementKey)
        await expectRefusal(
            try RelyingParty.makeCredential(secret, for: otherName, to: identity.endorsementKey),
            .decode,
            "0x1df"
        )
        await expectRefusal(
            try RelyingParty.makeCredential(secret, for: name, to: otherIdentity.endorsementKey),
            .decode,
            "0x1df"
        )
        var changed = good.credential
        changed[changed.count - 1] ^= 1
        await expectRefusal(
            ActivationChallenge(credential: changed, encryptedSecret: good.encryptedSecret),
            .decode,
            "0x1df"
        )
        for octets in [[], [0], Array(good.encryptedSecret.dropLast()), [UInt8](repeating: 0, count: 68)] {
            await expectRefusal(
                ActivationChallenge(credential: good.credential, encryptedSecret: octets),
                .decode,
                "0x"
            )
        }
        let long = [UInt8](repeating: 0, count: ActivationChallenge.longestPart + 1)
        await expectRefusal(
            ActivationChallenge(credential: long, encryptedSecret: good.encryptedSecret),
            .param,
            ""
        )
        await expectRefusal(
            ActivationChallenge(credential: good.credential, encryptedSecret: long),
            .param,
            ""
        )
        #expect(try await world.attester.activate(good).octets == secret)
    }

    @Test("an independent verifier finds the TPM's key, its policy and the nonce in the attestation")
    func attests() async throws {
        let world = try await KeyWorld.start()
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        let attestation = try await world.attester.attest(
            key.blob,
            authorization: .fixed(1),
            qualifyingData: nonce
        )
        #expect(attestation.publicKey == key.publicKey)
        #expect(attestation.level == .firstUse)
        let identity = try await world.attester.attestationIdentity()
        #expect(attestation.evidence?.identity == identity)
        try RelyingParty.check(attestation, nonce: nonce)
        let longest = [UInt8](repeating: 7, count: 64)
        for nonce in [[], longest] {
            try RelyingParty.check(
                try await world.attester.attest(
                    key.blob,
                    authorization: .fixed(1),
                    qualifyingData: nonce
                ),
                nonce: nonce
            )
        }
    }

    @Test("a verifier detects another nonce, key, policy, statement or TPM")
    func forgeries() async throws {
        let world = try await KeyWorld.start()
        let other = try await KeyWorld.start()
        func attestation(_ world: KeyWorld) async throws -> Attestation {
            let key = try await world.keys.makeKey(authorization: .fixed(1))
            return try await world.attester.attest(
                key.blob,
                authorization: .fixed(1),
                qualifyingData: nonce
            )
        }
        let good = try await attestation(world)
        let second = try await attestation(world)
        let foreign = try await attestation(other)
        let (goodEvidence, secondEvidence) = try (#require(good.evidence), #require(second.evidence))
        let foreignEvidence = try #require(foreign.evidence)
        func forged(
            _ publicKey: [UInt8]? = nil,
            identity: AttestationIdentity? = nil,
            area: [UInt8]? = nil,
            statement: [UInt8]? = nil,
            policy: [PolicyStep]? = nil
        ) -> Attestation {
            let certification = goodEvidence.certification
            return Attestation(
                publicKey: publicKey ?? good.publicKey,
                evidence: Attestation.Evidence(
                    identity: identity ?? goodEvidence.identity,
                    certification: KeyCertification(
                        publicArea: area ?? certification.publicArea,
                        statement: statement ?? certification.statement,
                        signature: certification.signature,
                        policy: policy ?? certification.policy
                    )
                )
            )
        }
        try RelyingParty.check(forged(), nonce: nonce)
        #expect(throws: RelyingParty.Refusal.nonce) { try RelyingParty.check(good, nonce: [1]) }
        #expect(throws: RelyingParty.Refusal.publicKey) {
            try RelyingParty.check(forged(second.publicKey), nonce: nonce)
        }
        #expect(throws: RelyingParty.Refusal.name) {
            try RelyingParty.check(forged(area: secondEvidence.certification.publicArea), nonce: nonce)
        }
        #expect(throws: RelyingParty.Refusal.signature) {
            try RelyingParty.check(forged(statement: secondEvidence.certification.statement), nonce: nonce)
        }
        #expect(throws: RelyingParty.Refusal.signature) {
            try RelyingParty.check(forged(identity: foreignEvidence.identity), nonce: nonce)
        }
        for policy in [
            [], [PolicyStep.authValue, .authValue], [PolicyStep(command: 0x16B, operands: [[1]])],
        ] {
            #expect(throws: RelyingParty.Refusal.policy) {
                try RelyingParty.check(forged(policy: policy), nonce: nonce)
            }
        }
        #expect(throws: RelyingParty.Refusal.software) {
            let software = Attestation(publicKey: good.publicKey, evidence: nil)
            #expect(software.level == .software)
            try RelyingParty.check(software, nonce: nonce)
        }
    }

    @Test("attestation fails without the key's authorisation, on another TPM, or with too long a nonce")
    func refusals() async throws {
        let world = try await KeyWorld.start()
        let other = try await KeyWorld.start()
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        let nonce = self.nonce
        let wrong = await #expect(throws: KeychainError.self) {
            _ = try await world.attester.attest(
                key.blob,
                authorization: .fixed(2),
                qualifyingData: nonce
            )
        }
        #expect(wrong == KeychainError(.authFailed))
        #expect(wrong?.cause?.code.hasPrefix("0x9a2") == true)
        let foreign = await #expect(throws: KeychainError.self) {
            _ = try await other.attester.attest(
                key.blob,
                authorization: .fixed(1),
                qualifyingData: nonce
            )
        }
        #expect(foreign == KeychainError(.decode))
        #expect(foreign?.cause == .otherHardware)
        await #expect(throws: KeychainError(.param)) {
            _ = try await world.attester.attest(
                key.blob,
                authorization: .fixed(1),
                qualifyingData: [UInt8](repeating: 1, count: 65)
            )
        }
    }

    @Test("a clear ends the attestation key and leaves the endorsement key")
    func clear() async throws {
        let world = try await KeyWorld.start(.certified(1))
        let before = try await world.attester.attestationIdentity()
        await world.tpm.close()
        try await world.chip.clear()
        let after = try await world.attester.attestationIdentity()
        #expect(after.endorsementKey == before.endorsementKey)
        #expect(after.certificates == before.certificates)
        #expect(after.attestationKey != before.attestationKey)
    }

    @Test("an endorsement hierarchy with an authorisation is reported as unavailable")
    func closedHierarchy() async throws {
        let world = try await KeyWorld.start()
        try await TPM2Tools.run("changeauth", ["-c", "e", "secret"], world.chip)
        let error = await #expect(throws: KeychainError.self) {
            _ = try await world.attester.attestationIdentity()
        }
        #expect(error == KeychainError(.notAvailable))
        #expect(error?.remedy == .check)
    }

    @Test("attestation survives CBOR coding, and its JSON is complete", arguments: [true, false])
    func coding(isHardware: Bool) async throws {
        let world = try await KeyWorld.start(.certified(1))
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        var attestation = Attestation(publicKey: key.publicKey, evidence: nil)
        if isHardware {
            attestation = try await world.attester.attest(
                key.blob,
                authorization: .fixed(1),
                qualifyingData: nonce
            )
        }
        var writer = WireWriter(SecretBuffer())
        attestation.encode(to: &writer)
        let back = try writer.finish().withOctets { octets in
            try CBORReader.read(octets) { try Attestation(from: &$0) }
        }
        #expect(back == attestation)
        let json = try JSONSerialization.jsonObject(with: Data(attestation.json.utf8)) as? [String: Any]
        #expect(json?["level"] as? String == attestation.level.rawValue)
        #expect(json?["publicKey"] as? String == base64URL(attestation.publicKey))
        guard let evidence = attestation.evidence else {
            #expect(json?.count == 2)
            return
        }
        #expect(json?["endorsementKey"] as? String == base64URL(evidence.identity.endorsementKey))
        #expect(json?["certificates"] as? [String] == evidence.identity.certificates.map(base64URL))
        #expect(json?["attestationKey"] as? String == base64URL(evidence.identity.attestationKey))
        #expect(json?["publicArea"] as? String == base64URL(evidence.certification.publicArea))
        #expect(json?["statement"] as? String == base64URL(evidence.certification.statement))
        #expect(json?["signature"] as? String == base64URL(evidence.certification.signature))
        let policy = json?["policy"] as? [[String: Any]]
        #expect(policy?.map { $0["command"] as? UInt32 } == [0x16B])
    }

    /// RFC 4648, section 5, encoded by Foundation.
    private func base64URL(_ octets: [UInt8]) -> String {
        Data(octets).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }
}
