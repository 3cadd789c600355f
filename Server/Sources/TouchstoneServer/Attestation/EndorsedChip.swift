internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import RelyingParty
internal import SwiftASN1
internal import WebAuthn
internal import X509

/// A chip identified by its endorsement key, with the manufacturer's statements in its certificate.
struct EndorsedChip: Sendable, Equatable {
    let key: CredentialActivation.EndorsementKey
    /// SHA-256 of the key's SubjectPublicKeyInfo: the device anchor of a record, and the entry in a list of chips.
    let anchor: [UInt8]
    /// As in the certificate, such as `id:494E5443`; `id:00000000` without a certificate.
    let manufacturer: String
    let model: String
    let version: String

    private static let unknown = "id:00000000"

    /// Creates a chip from the uncompressed point of its key.
    private init?(point: [UInt8], names: [ASN1ObjectIdentifier: String]) {
        if let p256 = try? P256.KeyAgreement.PublicKey(x963Representation: point) {
            self.init(.p256(point), encoded: p256.derRepresentation, names: names)
        } else if let p384 = try? P384.KeyAgreement.PublicKey(x963Representation: point) {
            self.init(.p384(point), encoded: p384.derRepresentation, names: names)
        } else {
            return nil
        }
    }

    /// Creates a chip from an RSA key; nil for a size other than 2048 bits.
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

    /// Creates a chip from a TPMT_PUBLIC; nil for a key that credential activation does not support here.
    init?(area: TPMPublicArea) {
        // An endorsement key is a restricted decryption key (TCG EK Credential Profile, B.3.4).
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

    /// Creates a chip from the manufacturer's certificate; nil for a key that credential activation does not support
    /// here.
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
