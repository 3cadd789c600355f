import AccountStore
import CBOR
import Crypto
import CryptoExtras
import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import WebAuthnModel
import WebAuthnTestKit

/// A software TPM: an endorsement key that activates credentials, and an attestation key that certifies others.
///
/// Written from TPM 2.0 Part 1, as the inverse of the server's code, which makes credentials.
struct SoftChip: Sendable {
    let endorsementKey = P256.KeyAgreement.PrivateKey()
    let attestationKey = P256.Signing.PrivateKey()

    static func big<N: FixedWidthInteger>(_ number: N) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
    static func sized(_ bytes: [UInt8]) -> [UInt8] { big(UInt16(bytes.count)) + bytes }

    private static func area(
        _ attributes: UInt32,
        policy: [UInt8] = [],
        symmetric: [UInt8] = [0, 0x10],
        scheme: [UInt8] = [0, 0x10],
        raw: [UInt8]
    ) -> [UInt8] {
        let head = big(UInt16(0x0023)) + big(UInt16(0x000B)) + big(attributes) + sized(policy)
        return head + symmetric + scheme + big(UInt16(3)) + [0, 0x10] + sized(Array(raw.prefix(32)))
            + sized(Array(raw.suffix(32)))
    }

    /// The attestation of a key for a binding, as `touchstone-tpm2-key`.
    func statement(
        of key: P256.Signing.PublicKey,
        _ binding: DeviceKeyBinding,
        attributes: UInt32 = 0x0006_0432,
        policy: [UInt8]? = nil
    ) throws -> JSONValue {
        let authPolicy =
            policy ?? Array(SHA256.hash(data: [UInt8](repeating: 0, count: 32) + [0, 0, 1, 0x6B]))
        let area = Self.area(attributes, policy: authPolicy, raw: Array(key.rawRepresentation))
        let info =
            Self.big(UInt32(0xFF54_4347)) + Self.big(UInt16(0x8017)) + Self.sized([1, 2])
            + Self.sized(Array(SHA256.hash(data: binding.message)))
            + [UInt8](repeating: 0, count: 25) + Self.sized(Self.name(area)) + Self.sized([9])
        return [
            "level": "hardware", "publicKey": JSONValue(base64URL: Array(key.x963Representation)),
            "publicArea": JSONValue(base64URL: area), "statement": JSONValue(base64URL: info),
            "signature": JSONValue(
                base64URL: Array(try attestationKey.signature(for: info).rawRepresentation)
            ),
            "policy": [["command": 0x16B, "operands": []]],
        ]
    }

    /// TPMT_PUBLIC of the TCG's template L-2.
    var endorsementArea: [UInt8] {
        Self.area(
            0x0003_00B2,
            policy: [UInt8](repeating: 0x83, count: 32),
            symmetric: [0, 6, 0, 128, 0, 0x43],
            raw: Array(endorsementKey.publicKey.rawRepresentation)
        )
    }

    func attestationArea(attributes: UInt32 = 0x0005_0072) -> [UInt8] {
        Self.area(
            attributes,
            scheme: [0, 0x18, 0, 0x0B],
            raw: Array(attestationKey.publicKey.rawRepresentation)
        )
    }

    private static func kdfa(_ key: [UInt8], _ label: String, _ context: [UInt8], _ bits: UInt32) -> [UInt8] {
        let input = big(UInt32(1)) + Array("\(label)\0".utf8) + context + big(bits)
        return Array(
            Array(HMAC<SHA256>.authenticationCode(for: input, using: SymmetricKey(data: key))).prefix(
                Int(bits) / 8
            )
        )
    }

    /// TPM2_ActivateCredential; nil if the credential is for another TPM or another key.
    func activate(_ blob: [UInt8], _ secret: [UInt8], name: [UInt8]) throws -> [UInt8]? {
        // Both TPM2Bs contain two more: integrity and the encrypted identity, x and y of the ephemeral key.
        let x = Array(secret[4..<36])
        let y = Array(secret[38..<70])
        let shared = try endorsementKey.sharedSecretFromKeyAgreement(
            with: P256.KeyAgreement.PublicKey(x963Representation: [4] + x + y)
        ).withUnsafeBytes { Array($0) }
        let ownX = Array(endorsementKey.publicKey.rawRepresentation.prefix(32))
        let seed = Array(
            SHA256.hash(data: Self.big(UInt32(1)) + shared + Array("IDENTITY\0".utf8) + x + ownX)
        )
        let integrity = Array(blob[4..<36])
        let encrypted = Array(blob[36...])
        let code = HMAC<SHA256>.authenticationCode(
            for: encrypted + name,
            using: SymmetricKey(data: Self.kdfa(seed, "INTEGRITY", [], 256))
        )
        guard Array(code) == integrity else { return nil }
        let plain = try AES._CFB.decrypt(
            encrypted,
            using: SymmetricKey(data: Self.kdfa(seed, "STORAGE", name, 128)),
            iv: AES._CFB.IV(ivBytes: [UInt8](repeating: 0, count: 16))
        )
        return Array(plain.dropFirst(2))
    }

    /// TPM2_Quote: TPMS_ATTEST and r and s of its signature.
    ///
    /// `selection` is TPML_PCR_SELECTION, `type` TPM_ST_ATTEST_QUOTE.
    func quote(
        _ nonce: [UInt8],
        digest: [UInt8],
        selection: [UInt8] = [0, 0, 0, 1, 0, 0x0B, 3, 0xFF, 0, 0],
        type: UInt16 = 0x8018
    ) throws -> (statement: [UInt8], signature: [UInt8]) {
        let statement =
            Self.big(UInt32(0xFF54_4347)) + Self.big(type) + Self.sized([1, 2]) + Self.sized(nonce)
            + [UInt8](repeating: 0, count: 25) + selection + Self.sized(digest)
        return (statement, Array(try attestationKey.signature(for: statement).rawRepresentation))
    }

    static func name(_ area: [UInt8]) -> [UInt8] { [0, 0x0B] + Array(SHA256.hash(data: area)) }

    /// The body that registers a key of this TPM whose use needs its authorisation value, with this certificate.
    func registration(_ user: TestUser, _ begun: Answer, certificate: [UInt8]) throws -> JSONValue {
        let authenticator = user.authenticator
        guard case .ec2(_, _, let x, let y) = authenticator.publicKey,
            let challenge = begun["publicKey"]?["challenge"]?.bytes
        else { return .null }
        let policy = Array(SHA256.hash(data: [UInt8](repeating: 0, count: 32) + [0, 0, 1, 0x6B]))
        let area = Self.area(0x0004_0432, policy: policy, raw: x + y)
        let clientData = authenticator.clientData("webauthn.create", challenge)
        let data = authenticator.authenticatorData(isNew: true)
        let signed = Array(SHA256.hash(data: data + SoftAuthenticator.hash(clientData)))
        let info =
            Self.big(UInt32(0xFF54_4347)) + Self.big(UInt16(0x8017)) + Self.sized([1, 2]) + Self.sized(signed)
            + [UInt8](repeating: 0, count: 25) + Self.sized(Self.name(area)) + Self.sized([9])
        let statement = CBORValue.map([
            CBORPair(.text("alg"), .integer(-7)),
            CBORPair(.text("sig"), .bytes(Array(try attestationKey.signature(for: info).derRepresentation))),
            CBORPair(.text("ver"), .text("2.0")),
            CBORPair(.text("x5c"), .array([.bytes(certificate)])),
            CBORPair(.text("pubArea"), .bytes(area)),
            CBORPair(.text("certInfo"), .bytes(info)),
        ])
        let object = SoftAuthenticator.attestationObject(
            format: .text("tpm"),
            statement: statement,
            data: .bytes(data)
        )
        let id = JSONValue(base64URL: authenticator.credentialId)
        return [
            "ceremonyId": begun["ceremonyId"] ?? .null,
            "credential": [
                "id": id, "rawId": id, "type": "public-key",
                "response": [
                    "clientDataJSON": JSONValue(base64URL: clientData),
                    "attestationObject": JSONValue(base64URL: object), "transports": ["internal"],
                ],
                "clientExtensionResults": ["keyPolicy": [["command": 0x16B, "operands": []]]],
            ],
        ]
    }
}
