import CBOR
import Foundation
import KeychainModel
import WebAuthnModel

/// An attestation as a server receives it: its encoding and its JSON.
enum AttestationTarget: FuzzTarget {
    static let name = "attestation"

    static func run(_ input: Span<UInt8>) {
        guard let attestation = read(Attestation.self, input) else {
            if let identity = read(AttestationIdentity.self, input) {
                require(wire(identity) == input.array, "an identity has one encoding")
            }
            return
        }
        require(wire(attestation) == input.array, "an attestation has one encoding")
        runJSON(attestation)
    }

    private static func read<Body: WireBody>(_ type: Body.Type, _ input: Span<UInt8>) -> Body? {
        try? CBORReader.read(input, limits: Frame.limits) { try Body(from: &$0) }
    }

    private static func runJSON(_ attestation: Attestation) {
        let object = try? JSONSerialization.jsonObject(with: Data(attestation.json.utf8))
        guard let members = object as? [String: Any] else {
            fatalError("broken promise: JSON that reads back")
        }
        require(octets(members["publicKey"]) == attestation.publicKey, "the public key reads back")
        require(members["level"] as? String == attestation.level.rawValue, "the level reads back")
        guard let evidence = attestation.evidence else {
            require(members.count == 2, "no evidence of software")
            return
        }
        let certificates = (members["certificates"] as? [Any])?.map(octets)
        require(certificates == evidence.identity.certificates, "certificates read back")
        require(
            octets(members["endorsementKey"]) == evidence.identity.endorsementKey,
            "the endorsement key, too"
        )
        require(
            octets(members["attestationKey"]) == evidence.identity.attestationKey,
            "the attestation key, too"
        )
        require(octets(members["publicArea"]) == evidence.certification.publicArea, "the public area, too")
        require(octets(members["statement"]) == evidence.certification.statement, "the statement, too")
        require(octets(members["signature"]) == evidence.certification.signature, "the signature, too")
        let steps = (members["policy"] as? [[String: Any]])?.map { step in
            PolicyStep(
                command: (step["command"] as? NSNumber)?.uint32Value ?? 0,
                operands: (step["operands"] as? [Any])?.map(octets) ?? []
            )
        }
        require(steps == evidence.certification.policy, "the policy, too")
    }

    /// Decodes base64url without padding.
    private static func octets(_ value: Any?) -> [UInt8] {
        guard let text = value as? String else { fatalError("broken promise: bytes are text") }
        let base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        let padding = String(repeating: "=", count: (4 - base64.count % 4) % 4)
        guard let data = Data(base64Encoded: base64 + padding) else {
            fatalError("broken promise: base64url")
        }
        return [UInt8](data)
    }

    static func seeds() -> [[UInt8]] {
        var seeds = Example.attestations.map { wire($0) }
        for attestation in Example.attestations {
            guard let identity = attestation.evidence?.identity else { continue }
            seeds.append(wire(identity))
        }
        return seeds + seeds.flatMap { damaged($0, most: 8) }
    }
}

extension Example {
    /// Attestations of software, of a chip without a certificate, of one with a certificate, and with more parts than
    /// the reader accepts.
    static let attestations: [Attestation] =
        [Attestation(publicKey: [4] + octets(64), evidence: nil)]
        + [0, 1, 17].map { count in
            let identity = AttestationIdentity(
                endorsementKey: octets(90),
                certificates: (0..<count).map { octets(40, from: UInt8($0)) },
                attestationKey: octets(88, from: 3)
            )
            let certification = KeyCertification(
                publicArea: octets(86),
                statement: octets(100),
                signature: octets(64),
                policy: [.authValue, PolicyStep(command: 0x151, operands: [octets(34), []])]
            )
            return Attestation(
                publicKey: [4] + octets(64),
                evidence: Attestation.Evidence(identity: identity, certification: certification)
            )
        }
}
