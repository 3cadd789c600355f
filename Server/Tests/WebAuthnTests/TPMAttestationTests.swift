import CBOR
import Crypto
import Foundation
import SwiftASN1
import Testing
import WebAuthn
import WebAuthnModel
import WebAuthnTestKit
import X509

/// A software TPM that certifies a key; each part can be altered before it is signed.
private struct SoftTPM {
    let maker: SoftManufacturer
    var authenticator = SoftAuthenticator()
    var attributes: UInt32 = 0x0006_0432
    var policy: [UInt8] = Array(SHA256.hash(data: [UInt8](repeating: 0, count: 32) + [0, 0, 1, 0x6B]))
    var magic: UInt32 = 0xFF54_4347
    var nameAlgorithm: UInt16 = 0x000B
    var extraData: [UInt8]?
    var name: [UInt8]?
    var x: [UInt8]?
    var trailing: [UInt8] = []
    var usage: ASN1ObjectIdentifier = [2, 23, 133, 8, 3]
    var hasModel = true
    var isNameInParts = false
    var hasCriticalName = true
    var version = "2.0"

    init() throws { maker = try SoftManufacturer() }

    private static func big<N: FixedWidthInteger>(_ number: N) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func sized(_ bytes: [UInt8]) -> [UInt8] { big(UInt16(bytes.count)) + bytes }

    var publicArea: [UInt8] {
        guard case .ec2(_, _, let keyX, let y) = authenticator.publicKey else { return [] }
        let head = Self.big(UInt16(0x0023)) + Self.big(nameAlgorithm) + Self.big(attributes)
        let parameters =
            Self.big(UInt16(0x0010)) + Self.big(UInt16(0x0010)) + Self.big(UInt16(3))
            + Self.big(UInt16(0x0010))
        return head + Self.sized(policy) + parameters + Self.sized(x ?? keyX) + Self.sized(y)
    }

    func certificate() throws -> Certificate {
        func attribute(_ number: UInt, _ value: String) -> RelativeDistinguishedName.Attribute {
            .init(type: [2, 23, 133, 2, number], utf8String: value)
        }
        var attributes = [attribute(1, "id:FFFFF1D0"), attribute(3, "id:13")]
        if hasModel { attributes.append(attribute(2, "Test TPM")) }
        let names =
            isNameInParts
            ? attributes.map { RelativeDistinguishedName([$0]) } : [RelativeDistinguishedName(attributes)]
        let alternative = SubjectAlternativeNames([.directoryName(DistinguishedName(names))])
        return try maker.certificate(
            subject: DistinguishedName([RelativeDistinguishedName]()),
            extensions: try .init {
                Critical(BasicConstraints.notCertificateAuthority)
                try ExtendedKeyUsage([ExtendedKeyUsage.Usage(oid: usage)])
                if hasCriticalName { Critical(alternative) } else { alternative }
            }
        )
    }

    func register(
        rules: [any RegistrationRule] = [],
        keyPolicy: [PolicyStep]? = [.authValue],
        signer: P256.Signing.PrivateKey? = nil
    ) async throws -> Registration {
        let challenge = [UInt8](repeating: 3, count: 32)
        let clientData = authenticator.clientData("webauthn.create", challenge)
        let data = authenticator.authenticatorData(isNew: true)
        let area = publicArea
        let signed = Array(SHA256.hash(data: data + SoftAuthenticator.hash(clientData)))
        let areaName = Self.big(nameAlgorithm) + Array(SHA256.hash(data: area))
        let info =
            Self.big(magic) + Self.big(UInt16(0x8017)) + Self.sized([1, 2]) + Self.sized(extraData ?? signed)
            + [UInt8](repeating: 0x33, count: 25) + Self.sized(name ?? areaName) + Self.sized([9]) + trailing
        let signature = try (signer ?? maker.leafKey).signature(for: info)
        let statement = CBORValue.map([
            CBORPair(.text("alg"), .integer(-7)),
            CBORPair(.text("sig"), .bytes(Array(signature.derRepresentation))),
            CBORPair(.text("ver"), .text(version)),
            CBORPair(.text("x5c"), .array([.bytes(try SoftManufacturer.der(try certificate()))])),
            CBORPair(.text("pubArea"), .bytes(area)),
            CBORPair(.text("certInfo"), .bytes(info)),
        ])
        let object = SoftAuthenticator.attestationObject(
            format: .text("tpm"),
            statement: statement,
            data: .bytes(data)
        )
        let relyingParty = RelyingParty(
            id: "example.org",
            origins: ["https://example.org"],
            attestation: AttestationPolicy(trustAnchors: [maker.root]),
            rules: rules
        )
        return try await relyingParty.verify(
            RegistrationResponse(
                rawId: authenticator.credentialId,
                clientDataJSON: clientData,
                attestationObject: object,
                keyPolicy: keyPolicy
            ),
            for: RegistrationCeremony(challenge: challenge, algorithms: relyingParty.algorithms)
        )
    }
}

@Suite("TPM attestation")
struct TPMAttestationTests {
    private func refusal(
        _ reason: WebAuthnError.Reason,
        rules: [any RegistrationRule] = [],
        keyPolicy: [PolicyStep]? = [.authValue],
        signer: P256.Signing.PrivateKey? = nil,
        _ spoil: (inout SoftTPM) -> Void,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        var tpm = try SoftTPM()
        spoil(&tpm)
        let spoiled = tpm
        let error = await #expect(throws: WebAuthnError.self, sourceLocation: location) {
            _ = try await spoiled.register(rules: rules, keyPolicy: keyPolicy, signer: signer)
        }
        #expect(error?.reason == reason, "\(error.map { "\($0)" } ?? "")", sourceLocation: location)
    }

    @Test("a key certified by the TPM is accepted, with its names in one RDN or in three")
    func accepted() async throws {
        for isNameInParts in [false, true] {
            var tpm = try SoftTPM()
            tpm.isNameInParts = isNameInParts
            let registration = try await tpm.register()
            #expect(registration.attestation.isHardwareBound)
            #expect(registration.attestation.tpm?.manufacturer == "id:FFFFF1D0")
            #expect(registration.attestation.tpm?.model == "Test TPM")
            #expect(
                registration.attestation.tpm?.publicArea.authPolicy
                    == PolicyTranscript.digest(of: [.authValue])
            )
        }
    }

    @Test("each field of the statement is verified")
    func statement() async throws {
        let invalid = WebAuthnError.Reason.invalidAttestation
        try await refusal(invalid) { $0.extraData = [UInt8](repeating: 0, count: 32) }
        try await refusal(invalid) { $0.name = [0, 11] + [UInt8](repeating: 0, count: 32) }
        try await refusal(invalid) { $0.x = [UInt8](repeating: 1, count: 32) }
        // FIDO's P-3: the name's hash algorithm differs from the public area's.
        try await refusal(invalid) { $0.nameAlgorithm = 0x000C }
        try await refusal(invalid, signer: P256.Signing.PrivateKey()) { _ in }
        try await refusal(.malformedAttestation) { $0.magic = 0xFF54_4348 }
        try await refusal(.malformedAttestation) { $0.trailing = [0] }
        try await refusal(.malformedAttestation) { $0.version = "1.2" }
    }

    @Test("the attestation certificate must be for an attestation key and name its TPM")
    func certificate() async throws {
        let invalid = WebAuthnError.Reason.invalidAttestation
        try await refusal(invalid) { $0.usage = [1, 3, 6, 1, 5, 5, 7, 3, 1] }
        try await refusal(invalid) { $0.hasModel = false }
        try await refusal(invalid) { $0.hasCriticalName = false }
    }

    @Test("a rule requires a key that is bound to its TPM")
    func hardwareBound() async throws {
        let rules: [any RegistrationRule] = [HardwareBoundKey()]
        _ = try await SoftTPM().register(rules: rules)
        // Without fixedTPM, fixedParent, sensitiveDataOrigin or sign; then with restricted.
        for bit in [1, 4, 5, 18] {
            try await refusal(.refusedByRule, rules: rules) { $0.attributes &= ~(1 << UInt32(bit)) }
        }
        try await refusal(.refusedByRule, rules: rules) { $0.attributes |= 1 << 16 }
    }

    @Test(
        "a rule requires that the TPM asks for the user; the policy is recomputed from the client's steps"
    )
    func keyPolicy() async throws {
        let rules: [any RegistrationRule] = [TPMKeyPolicy(accepted: [[.authValue]])]
        _ = try await SoftTPM().register(rules: rules)
        let other = PolicyStep(command: 0x0000_016C, operands: [[0, 0, 1, 0x5D]])
        try await refusal(.refusedByRule, rules: rules, keyPolicy: nil) { _ in }
        try await refusal(.refusedByRule, rules: rules, keyPolicy: [other]) { _ in }
        // The key's own policy, but not an accepted one.
        try await refusal(.refusedByRule, rules: rules, keyPolicy: [other]) {
            $0.policy = PolicyTranscript.digest(of: [other])
        }
        // No policy at all, and one that userWithAuth bypasses.
        try await refusal(.refusedByRule, rules: rules, keyPolicy: []) { $0.policy = [] }
        try await refusal(.refusedByRule, rules: rules) { $0.attributes |= 1 << 6 }
    }

    /// TPM 2.0 Part 3: PolicyAuthValue, PolicyCommandCode and PolicyOR, each computed by hand.
    @Test("policies are recomputed as the TPM computes them")
    func digests() {
        let zeros = [UInt8](repeating: 0, count: 32)
        #expect(PolicyTranscript.digest(of: []) == zeros)
        let authValue = Array(SHA256.hash(data: zeros + [0, 0, 1, 0x6B]))
        #expect(PolicyTranscript.digest(of: [.authValue]) == authValue)
        let branches = authValue + zeros
        let or = PolicyStep(command: 0x171, operands: [branches])
        #expect(
            PolicyTranscript.digest(of: [.authValue, or])
                == Array(SHA256.hash(data: zeros + [0, 0, 1, 0x71] + branches))
        )
        let secret = PolicyStep(command: 0x151, operands: [[1, 2], [3]])
        let first = Array(SHA256.hash(data: zeros + [0, 0, 1, 0x51, 1, 2]))
        #expect(PolicyTranscript.digest(of: [secret]) == Array(SHA256.hash(data: first + [3])))
    }
}
