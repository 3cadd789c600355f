import Foundation
import SwiftASN1

/// A distinguished name: attributes in their order (RFC 5280, section 4.1.2.4).
struct CertificateName: Sendable {
    private let attributes: [(type: ASN1ObjectIdentifier, value: String)]

    init(_ node: ASN1Node) throws {
        attributes = try node.elements(.sequence).flatMap { relative in
            try relative.elements(.set).compactMap { attribute in
                try DER.sequence(attribute, identifier: .sequence) { nodes in
                    let type = try ASN1ObjectIdentifier(derEncoded: &nodes)
                    return (try nodes.take()).text.map { (type: type, value: $0) }
                }
            }
        }
    }

    /// All textual values of an attribute type.
    func values(_ type: ASN1ObjectIdentifier) -> [String] {
        attributes.filter { $0.type == type }.map(\.value)
    }

    /// The name for display: the attributes of the highest rank, the last one first, as Apple writes them.
    var summary: (text: String, isCommonName: Bool)? {
        let ranks: [ASN1ObjectIdentifier: Int] = [
            .commonName: 4, .organizationalUnitName: 3, .organizationName: 2,
        ]
        guard let highest = attributes.map({ ranks[$0.type] ?? 1 }).max() else { return nil }
        func join(_ values: [String]) -> String { values.reversed().joined(separator: ", ") }
        let text = join(attributes.filter { (ranks[$0.type] ?? 1) == highest }.map(\.value))
        guard highest == ranks[.commonName] else { return (text, false) }
        let descriptions = values(.description)
        return (descriptions.isEmpty ? text : "\(text) (\(join(descriptions)))", true)
    }
}

extension ASN1Node {
    /// The elements of a node, which must be constructed.
    fileprivate func elements(_ identifier: ASN1Identifier) throws -> ASN1NodeCollection {
        guard self.identifier == identifier, case .constructed(let nodes) = content else {
            throw CertificateFields.Fault.notACertificate
        }
        return nodes
    }

    /// The text of a `DirectoryString` or `IA5String`; nil for another type, or for bytes that are not valid
    /// characters of it.
    fileprivate var text: String? {
        guard case .primitive(let bytes) = content else { return nil }
        switch identifier {
        case .utf8String: return String(validating: bytes, as: UTF8.self)
        case .printableString, .ia5String, .numericString, .visibleString:
            return bytes.allSatisfy { $0 < 0x80 } ? String(decoding: bytes, as: UTF8.self) : nil
        case .teletexString:  // ISO 8859-1 in practice
            return String(data: Data(bytes), encoding: .isoLatin1)
        case .bmpString: return String(data: Data(bytes), encoding: .utf16BigEndian)
        case .universalString: return String(data: Data(bytes), encoding: .utf32BigEndian)
        default: return nil
        }
    }
}

extension ASN1ObjectIdentifier {
    static let commonName: ASN1ObjectIdentifier = [2, 5, 4, 3]
    static let emailAddress: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 9, 1]
    fileprivate static let description: ASN1ObjectIdentifier = [2, 5, 4, 13]
    fileprivate static let organizationName: ASN1ObjectIdentifier = [2, 5, 4, 10]
    fileprivate static let organizationalUnitName: ASN1ObjectIdentifier = [2, 5, 4, 11]
}
