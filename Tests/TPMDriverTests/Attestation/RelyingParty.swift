import Crypto
import CryptoExtras
import Foundation
import KeychainModel
import WebAuthnModel

/// A server's verification of an attestation, written from the specification and independent of the driver.
enum RelyingParty {
    /// Why an attestation was refused.
    enum Refusal: Error, Equatable {
        case malformed, software, signature, attributes, name, nonce, policy, publicKey, unsupportedKey
    }

    /// TPMA_OBJECT (Part 2, section 8.3).
    private static let fixedTPM: UInt32 = 1 << 1
    private static let fixedParent: UInt32 = 1 << 4
    private static let sensitiveDataOrigin: UInt32 = 1 << 5
    private static let userWithAuth: UInt32 = 1 << 6
    private static let restricted: UInt32 = 1 << 16
    private static let sign: UInt32 = 1 << 18

    /// Checks all but two things: the endorsement key's certificate, and that the attestation key is on its TPM.
    static func check(_ attestation: Attestation, nonce: [UInt8]) throws {
        guard let evidence = attestation.evidence else { throw Refusal.software }
        let attestationKey = try attestationKey(evidence.identity)
        let certification = evidence.certification
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: certification.signature)
        guard attestationKey.isValidSignature(signature, for: certification.statement) else {
            throw Refusal.signature
        }
        let statement = try CertifyStatement(certification.statement)
        let key = try KeyArea(certification.publicArea)
        guard statement.name == key.name else { throw Refusal.name }
        guard statement.extraData == nonce else { throw Refusal.nonce }
        guard key.x963 == attestation.publicKey else { throw Refusal.publicKey }
        let demanded = fixedTPM | fixedParent | sensitiveDataOrigin | sign
        guard key.attributes & (demanded | userWithAuth | restricted) == demanded else {
            throw Refusal.attributes
        }
        guard key.authPolicy == policyDigest(certification.policy), !key.authPolicy.isEmpty else {
            throw Refusal.policy
        }
    }

    /// The attestation key, which must be restricted to sign only data made by the TPM.
    static func attestationKey(_ identity: AttestationIdentity) throws -> P256.Signing.PublicKey {
        let area = try KeyArea(identity.attestationKey)
        let demanded = fixedTPM | fixedParent | sensitiveDataOrigin | sign | restricted
        guard area.attributes & demanded == demanded, area.scheme == 0x0018 else { throw Refusal.attributes }
        return try P256.Signing.PublicKey(x963Representation: area.x963)
    }

    /// The `authPolicy` that the transcript leads to.
    static func policyDigest(_ steps: [PolicyStep]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        for step in steps {
            digest = Array(SHA256.hash(data: digest + bigEndian(step.command) + (step.operands.first ?? [])))
            for operand in step.operands.dropFirst() { digest = Array(SHA256.hash(data: digest + operand)) }
        }
        return digest
    }

    /// TPM2_MakeCredential in software, for an elliptic-curve endorsement key (Part 1, section 24 and annex C.6.4).
    ///
    /// - Parameters:
    ///   - secret: The secret to return.
    ///   - name: The name of the key that must be loaded.
    ///   - endorsementKey: TPMT_PUBLIC.
    /// - Returns: The credential.
    /// - Throws: ``Refusal`` for a key of another type.
    static func makeCredential(
        _ secret: [UInt8],
        for name: [UInt8],
        to endorsementKey: [UInt8]
    ) throws -> ActivationChallenge {
        let area = try KeyArea(endorsementKey)
        switch area.key {
        case .ecc(curve: 0x0003, let x, _):
            let ephemeral = P256.KeyAgreement.PrivateKey()
            let publicKey = try P256.KeyAgreement.PublicKey(x963Representation: area.x963)
            let z = try ephemeral.sharedSecretFromKeyAgreement(with: publicKey).withUnsafeBytes { Array($0) }
            let point = Array(ephemeral.publicKey.rawRepresentation)
            return try wrap(secret, name, SHA256.self, keyBits: 128, z: z, point: point, x: x)
        case .ecc(curve: 0x0004, let x, _):
            let ephemeral = P384.KeyAgreement.PrivateKey()
            let publicKey = try P384.KeyAgreement.PublicKey(x963Representation: area.x963)
            let z = try ephemeral.sharedSecretFromKeyAgreement(with: publicKey).withUnsafeBytes { Array($0) }
            let point = Array(ephemeral.publicKey.rawRepresentation)
            return try wrap(secret, name, SHA384.self, keyBits: 256, z: z, point: point, x: x)
        default: throw Refusal.unsupportedKey
        }
    }

    /// The same for an RSA endorsement key with this certificate (annex B.10.4).
    static func makeCredential(
        _ secret: [UInt8],
        for name: [UInt8],
        toCertified certificate: [UInt8]
    ) async throws -> ActivationChallenge {
        let seed = (0..<32).map { _ in UInt8.random(in: 0...255) }
        return ActivationChallenge(
            credential: try protect(secret, name, SHA256.self, keyBits: 128, seed: seed),
            encryptedSecret: try await OpenSSL.encrypt(
                seed,
                label: Array("IDENTITY\0".utf8),
                to: certificate
            )
        )
    }

    private static func wrap<Hash: HashFunction>(
        _ secret: [UInt8],
        _ name: [UInt8],
        _: Hash.Type,
        keyBits: Int,
        z: [UInt8],
        point: [UInt8],
        x: [UInt8]
    ) throws -> ActivationChallenge {
        let (pointX, pointY) = (Array(point.prefix(x.count)), Array(point.suffix(x.count)))
        // KDFe (Part 1, section 11.4.10.3).
        let seed = Hash.hash(data: bigEndian(1 as UInt32) + z + Array("IDENTITY\0".utf8) + pointX + x)
        return ActivationChallenge(
            credential: try protect(secret, name, Hash.self, keyBits: keyBits, seed: Array(seed)),
            encryptedSecret: sized(pointX) + sized(pointY)
        )
    }

    private static func protect<Hash: HashFunction>(
        _ secret: [UInt8],
        _ name: [UInt8],
        _: Hash.Type,
        keyBits: Int,
        seed: [UInt8]
    ) throws -> [UInt8] {
        let encrypted = try AES._CFB.encrypt(
            sized(secret),
            using: SymmetricKey(data: kdfa(Hash.self, seed, "STORAGE", name, bits: keyBits)),
            iv: AES._CFB.IV(ivBytes: [UInt8](repeating: 0, count: 16))
        )
        let integrityKey = kdfa(Hash.self, seed, "INTEGRITY", [], bits: 8 * Hash.Digest.byteCount)
        let integrity = HMAC<Hash>.authenticationCode(
            for: Array(encrypted) + name,
            using: SymmetricKey(data: integrityKey)
        )
        return sized(Array(integrity)) + encrypted
    }

    /// KDFa (Part 1, section 11.4.10.2), for at most the hash's length.
    private static func kdfa<Hash: HashFunction>(
        _: Hash.Type,
        _ key: [UInt8],
        _ label: String,
        _ context: [UInt8],
        bits: Int
    ) -> [UInt8] {
        let input = bigEndian(1 as UInt32) + Array("\(label)\0".utf8) + context + bigEndian(UInt32(bits))
        let code = HMAC<Hash>.authenticationCode(for: input, using: SymmetricKey(data: key))
        return Array(Array(code).prefix(bits / 8))
    }

    private static func sized(_ octets: [UInt8]) -> [UInt8] {
        [UInt8(octets.count >> 8), UInt8(octets.count & 0xFF)] + octets
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }
}
