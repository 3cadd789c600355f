internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import RelyingParty
internal import SwiftASN1
internal import WebAuthn
internal import X509

/// A chip by its endorsement key: which key it is, and what the maker's certificate says of the chip.
struct EndorsedChip: Sendable, Equatable {
    let key: CredentialActivation.EndorsementKey
    /// SHA-256 of the key's SubjectPublicKeyInfo: what a device's record is anchored to, and what a list of chips holds.
    let anchor: [UInt8]
    /// As the certificate names it, such as `id:494E5443`; `id:00000000` without a certificate.
    let manufacturer: String
    let model: String
    let version: String

    private static let unknown = "id:00000000"

    /// From the uncompressed point of the key.
    private init?(point: [UInt8], names: [ASN1ObjectIdentifier: String]) {
        if let p256 = try? P256.KeyAgreement.PublicKey(x963Representation: point) {
            self.init(.p256(point), encoded: p256.derRepresentation, names: names)
        } else if let p384 = try? P384.KeyAgreement.PublicKey(x963Representation: point) {
            self.init(.p384(point), encoded: p384.derRepresentation, names: names)
        } else {
            return nil
        }
    }

    /// From an RSA key; nil for one of another size than 2048 bits.
    private init?(rsa key: _RSA.Signing.PublicKey, names: [ASN1ObjectIdentifier: String]) {
        guard key.keySizeInBits == 2048, let numbers = try? key.getKeyPrimitives() else { return nil }
        self.init(
            .rsa2048(n: Array(numbers.modulus), e: Array(numbers.publicExponent)),
            encoded: key.derRepresentation,
            names: names
        )
    }

    private init(
        _ key: CredentialActivation.EndorsementKey,
        encoded: Data,
        names: [ASN1ObjectIdentifier: String]
    ) {
        self.key = key
        anchor = Array(SHA256.hash(data: encoded))
        manufacturer = names[[2, 23, 133, 2, 1]] ?? Self.unknown
        model = names[[2, 23, 133, 2, 2]] ?? Self.unknown
        version = names[[2, 23, 133, 2, 3]] ?? Self.unknown
    }

    /// From a TPMT_PUBLIC; nil for a key that no credential can be made for here.
    init?(area: TPMPublicArea) {
        // An endorsement key decrypts, and only what the chip may see (TCG EK Credential Profile, B.3.4).
        guard
            area.attributes.isSuperset(of: [
                .fixedTPM, .fixedParent, .sensitiveDataOrigin, .restricted, .decrypt,
            ]),
            !area.attributes.contains(.sign)
        else { return nil }
        if let point = area.x963Representation {
            self.init(point: point, names: [:])
        } else if let numbers = area.rsaNumbers,
            let key = try? _RSA.Signing.PublicKey(n: numbers.n, e: numbers.e)
        {
            self.init(rsa: key, names: [:])
        } else {
            return nil
        }
    }

    /// From the maker's certificate; nil for a key that no credential can be made for here.
    init?(certificate: Certificate) {
        var names: [ASN1ObjectIdentifier: String] = [:]
        if let alternatives = try? certificate.extensions.subjectAlternativeNames {
            for case .directoryName(let name) in alternatives {
                for attribute in name.lazy.flatMap({ $0 }) { names[attribute.type] = String(attribute.value) }
            }
        }
        if let key = P256.Signing.PublicKey(certificate.publicKey) {
            self.init(point: Array(key.x963Representation), names: names)
        } else if let key = P384.Signing.PublicKey(certificate.publicKey) {
            self.init(point: Array(key.x963Representation), names: names)
        } else if let key = _RSA.Signing.PublicKey(certificate.publicKey) {
            self.init(rsa: key, names: names)
        } else {
            return nil
        }
    }
}
