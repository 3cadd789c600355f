package import CBOR
package import Crypto
package import Foundation
internal import SwiftASN1
internal import WebAuthn
package import WebAuthnModel
package import X509

/// A software authenticator with its client; builds each part of a response, so that a test can alter it.
package struct SoftAuthenticator {
    package var rpId = "example.org"
    package var origin = "https://example.org"
    package var aaguid = [UInt8](repeating: 7, count: 16)
    package var credentialId = (0..<32).map { UInt8($0) }
    /// Members of the client data beyond the standard's.
    package var otherMembers: [(name: String, value: JSONValue)] = []
    package let key = P256.Signing.PrivateKey()

    package init() {}

    package var publicKey: COSEKey {
        let raw = Array(key.publicKey.rawRepresentation)
        return .ec2(algorithm: .es256, curve: .p256, x: Array(raw[..<32]), y: Array(raw[32...]))
    }

    package func clientData(_ type: String, _ challenge: [UInt8]) -> [UInt8] {
        let json = CollectedClientData(type: type, challenge: challenge, origin: origin).json
        guard !otherMembers.isEmpty else { return json }
        return json.dropLast() + Array(",".utf8) + JSONValue.object(JSONObject(otherMembers)).json.dropFirst()
    }

    package func authenticatorData(
        flags: AuthenticatorData.Flags = [.userPresent, .userVerified],
        signCount: UInt32 = 1,
        isNew: Bool = false,
        extensions: CBORValue? = nil
    ) -> [UInt8] {
        AuthenticatorData(
            rpIdHash: Array(SHA256.hash(data: Array(rpId.utf8))),
            flags: flags,
            signCount: signCount,
            attestedCredentialData: isNew
                ? AttestedCredentialData(
                    aaguid: aaguid,
                    credentialId: credentialId,
                    credentialPublicKey: publicKey.encoded
                ) : nil,
            extensions: extensions
        ).encoded
    }

    package func sign(_ message: [UInt8]) -> [UInt8] {
        guard let signature = try? key.signature(for: message) else { return [] }
        return Array(signature.derRepresentation)
    }

    package static func hash(_ clientData: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: clientData)) }

    /// An attestation object with these members, in canonical order.
    package static func attestationObject(
        format: CBORValue? = .text("packed"),
        statement: CBORValue?,
        data: CBORValue?
    ) -> [UInt8] {
        var pairs: [CBORPair] = []
        if let format { pairs.append(CBORPair(.text("fmt"), format)) }
        if let statement { pairs.append(CBORPair(.text("attStmt"), statement)) }
        if let data { pairs.append(CBORPair(.text("authData"), data)) }
        return CBORValue.map(pairs).encoded()
    }

    /// `packed` self attestation.
    package func selfStatement(_ data: [UInt8], _ clientData: [UInt8]) -> CBORValue {
        .map([
            CBORPair(.text("alg"), .integer(-7)),
            CBORPair(.text("sig"), .bytes(sign(data + Self.hash(clientData)))),
        ])
    }
}

/// A manufacturer of authenticators: a root certificate, and certificates issued by it.
package struct SoftManufacturer {
    package let rootKey = P256.Signing.PrivateKey()
    package let root: Certificate
    package let leafKey = P256.Signing.PrivateKey()

    package init() throws {
        let name = try DistinguishedName { CommonName("Test attestation root") }
        let now = Date()
        root = try Certificate(
            version: .v3,
            serialNumber: .init(),
            publicKey: .init(rootKey.publicKey),
            notValidBefore: now.addingTimeInterval(-86_400),
            notValidAfter: now.addingTimeInterval(86_400 * 365),
            issuer: name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try .init { Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil)) },
            issuerPrivateKey: .init(rootKey)
        )
    }

    /// An attestation certificate as in WebAuthn, section 8.2.1.
    package func leaf(
        notBefore: TimeInterval = -3600,
        notAfter: TimeInterval = 3600,
        organizationalUnit: String = "Authenticator Attestation",
        isAuthority: Bool = false,
        aaguid: [UInt8]? = nil
    ) throws -> Certificate {
        let subject = try DistinguishedName {
            CountryName("DE")
            OrganizationName("Test")
            OrganizationalUnitName(organizationalUnit)
            CommonName("Attestation")
        }
        return try certificate(
            subject: subject,
            extensions: try .init {
                Critical(
                    isAuthority
                        ? BasicConstraints.isCertificateAuthority(maxPathLength: nil)
                        : .notCertificateAuthority
                )
                if let aaguid {
                    var serializer = DER.Serializer()
                    let _ = try serializer.serialize(ASN1OctetString(contentBytes: aaguid[...]))
                    Certificate.Extension(
                        oid: [1, 3, 6, 1, 4, 1, 45724, 1, 1, 4],
                        critical: false,
                        value: serializer.serializedBytes[...]
                    )
                }
            },
            notBefore: notBefore,
            notAfter: notAfter
        )
    }

    package func certificate(
        subject: DistinguishedName,
        extensions: Certificate.Extensions,
        notBefore: TimeInterval = -3600,
        notAfter: TimeInterval = 3600
    ) throws -> Certificate {
        let now = Date()
        return try Certificate(
            version: .v3,
            serialNumber: .init(),
            publicKey: .init(leafKey.publicKey),
            notValidBefore: now.addingTimeInterval(notBefore),
            notValidAfter: now.addingTimeInterval(notAfter),
            issuer: root.subject,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: extensions,
            issuerPrivateKey: .init(rootKey)
        )
    }

    package static func der(_ certificate: Certificate) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }
}
