import KeychainModel
import SwiftASN1

/// `AlgorithmIdentifier` (RFC 5280, section 4.1.1.2).
struct AlgorithmIdentifier {
    let algorithm: ASN1ObjectIdentifier
    /// The parameters, if they are an object identifier, such as a curve.
    let parameter: ASN1ObjectIdentifier?

    init(_ node: ASN1Node) throws {
        self = try DER.sequence(node, identifier: .sequence) { nodes in
            let algorithm = try ASN1ObjectIdentifier(derEncoded: &nodes)
            let parameters = nodes.next()
            guard let parameters, parameters.identifier == .objectIdentifier else {
                return AlgorithmIdentifier(algorithm, nil)
            }
            return AlgorithmIdentifier(algorithm, try ASN1ObjectIdentifier(derEncoded: parameters))
        }
    }

    private init(_ algorithm: ASN1ObjectIdentifier, _ parameter: ASN1ObjectIdentifier?) {
        (self.algorithm, self.parameter) = (algorithm, parameter)
    }
}

extension KeyMaterial {
    /// The key in `SubjectPublicKeyInfo` (RFC 5280, section 4.1.2.7); nil for an unsupported type and for an invalid key.
    ///
    /// - Throws: for malformed DER.
    init?(subjectPublicKeyInfo node: ASN1Node) throws {
        let (algorithm, key) = try DER.sequence(node, identifier: .sequence) { nodes in
            (try AlgorithmIdentifier(try nodes.take()), try ASN1BitString(derEncoded: &nodes))
        }
        guard key.paddingBits == 0 else { return nil }
        let octets = Array(key.bytes)
        do throws(KeychainError) {
            switch (algorithm.algorithm, algorithm.parameter) {
            case (.rsaEncryption, nil):
                self = try KeyMaterial(type: .rsa, isPrivate: false, octets: octets)
            case (.ecPublicKey, .some(let curve)):
                self = try KeyMaterial(type: .ec, isPrivate: false, octets: octets)
                // `KeyMaterial` infers the curve from the key's length, so compare it with the named curve.
                guard [.secp256r1: 256, .secp384r1: 384, .secp521r1: 521][curve] == sizeInBits else {
                    return nil
                }
            default: return nil
            }
        } catch {
            return nil
        }
    }
}

extension ASN1ObjectIdentifier {
    fileprivate static let rsaEncryption: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 1, 1]
    fileprivate static let ecPublicKey: ASN1ObjectIdentifier = [1, 2, 840, 10045, 2, 1]
    fileprivate static let secp256r1: ASN1ObjectIdentifier = [1, 2, 840, 10045, 3, 1, 7]
    fileprivate static let secp384r1: ASN1ObjectIdentifier = [1, 3, 132, 0, 34]
    fileprivate static let secp521r1: ASN1ObjectIdentifier = [1, 3, 132, 0, 35]
}
