import Foundation
import SwiftASN1

/// The certificate fields that the `SecCertificate…` functions return (RFC 5280, section 4.1).
struct CertificateFields: Sendable {
    /// The content of the serial number's INTEGER.
    let serialNumber: [UInt8]
    /// The name of the issuer.
    let issuer: CertificateName
    /// When its validity begins.
    let notValidBefore: Date
    /// When its validity ends.
    let notValidAfter: Date
    /// The name of the subject.
    let subject: CertificateName
    /// The subject's public key; nil for an unsupported type of key.
    let publicKey: KeyMaterial?
    /// The email addresses of the subject, those of the alternative names first.
    let emailAddresses: [String]
    /// The DNS names of the subject, from the alternative names.
    let dnsNames: [String]

    /// Parses a complete certificate.
    ///
    /// - Throws: for anything except exactly one certificate in DER.
    init(derEncoded encoded: [UInt8]) throws {
        self = try DER.sequence(try DER.parse(encoded), identifier: .sequence) { nodes in
            let signed = try nodes.take()
            _ = try AlgorithmIdentifier(try nodes.take())
            _ = try ASN1BitString(derEncoded: &nodes)
            return try CertificateFields(signed)
        }
    }

    /// Parses the signed part: `TBSCertificate`.
    private init(_ node: ASN1Node) throws {
        self = try DER.sequence(node, identifier: .sequence) { nodes in
            // A missing field means version 1, which is encoded as 0.
            let version = try DER.optionalExplicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) {
                try Int(derEncoded: $0)
            }
            guard 0...2 ~= version ?? 0 else { throw Fault.notACertificate }
            let serialNumber = try nodes.take()
            _ = try ArraySlice<UInt8>(derEncoded: serialNumber)
            guard case .primitive(let number) = serialNumber.content else { throw Fault.notACertificate }
            _ = try AlgorithmIdentifier(try nodes.take())
            let issuer = try CertificateName(try nodes.take())
            let validity = try DER.sequence(try nodes.take(), identifier: .sequence) { times in
                (from: try Date(try times.take()), until: try Date(try times.take()))
            }
            let subject = try CertificateName(try nodes.take())
            let publicKey = try KeyMaterial(subjectPublicKeyInfo: try nodes.take())
            for tagNumber: UInt in 1...2 {  // unique identifiers, of the time before extensions
                _ = DER.optionalImplicitlyTagged(&nodes, tagNumber: tagNumber, tagClass: .contextSpecific) {
                    $0
                }
            }
            let extensions = try DER.optionalExplicitlyTagged(
                &nodes,
                tagNumber: 3,
                tagClass: .contextSpecific
            ) {
                try DER.sequence(of: CertificateExtension.self, identifier: .sequence, rootNode: $0)
            }
            let alternative = try extensions?.first { $0.identifier == .subjectAlternativeName }
                .map { try AlternativeNames($0.value) }
            return CertificateFields(
                serialNumber: Array(number),
                issuer: issuer,
                notValidBefore: validity.from,
                notValidAfter: validity.until,
                subject: subject,
                publicKey: publicKey,
                emailAddresses: (alternative?.emailAddresses ?? []) + subject.values(.emailAddress),
                dnsNames: alternative?.dnsNames ?? []
            )
        }
    }

    private init(
        serialNumber: [UInt8],
        issuer: CertificateName,
        notValidBefore: Date,
        notValidAfter: Date,
        subject: CertificateName,
        publicKey: KeyMaterial?,
        emailAddresses: [String],
        dnsNames: [String]
    ) {
        self.serialNumber = serialNumber
        self.issuer = issuer
        self.notValidBefore = notValidBefore
        self.notValidAfter = notValidAfter
        self.subject = subject
        self.publicKey = publicKey
        self.emailAddresses = emailAddresses
        self.dnsNames = dnsNames
    }

    /// The subject's name for display; see ``SecCertificateCopySubjectSummary(_:)``.
    var subjectSummary: String? {
        let summary = subject.summary
        if summary?.isCommonName == true { return summary?.text }
        return emailAddresses.first ?? dnsNames.first ?? summary?.text
    }

    /// The error for bytes that are not a certificate, where the ASN.1 library throws none.
    enum Fault: Error {
        case notACertificate
    }
}

/// An extension: its identifier and its DER value.
private struct CertificateExtension: DERParseable {
    let identifier: ASN1ObjectIdentifier
    let value: ArraySlice<UInt8>

    init(derEncoded node: ASN1Node) throws {
        self = try DER.sequence(node, identifier: .sequence) { nodes in
            let identifier = try ASN1ObjectIdentifier(derEncoded: &nodes)
            _ = try Bool(isCritical: &nodes)
            return CertificateExtension(identifier, try ASN1OctetString(derEncoded: &nodes).bytes)
        }
    }

    private init(_ identifier: ASN1ObjectIdentifier, _ value: ArraySlice<UInt8>) {
        (self.identifier, self.value) = (identifier, value)
    }
}

extension Bool {
    /// Whether an extension is critical; false if missing.
    fileprivate init(isCritical nodes: inout ASN1NodeCollection.Iterator) throws {
        self = try DER.decodeDefault(&nodes, defaultValue: false)
    }
}

/// The names in `subjectAltName` that summaries use (RFC 5280, section 4.2.1.6).
private struct AlternativeNames {
    var emailAddresses: [String] = []
    var dnsNames: [String] = []

    init(_ encoded: ArraySlice<UInt8>) throws {
        guard case .constructed(let names) = try DER.parse(encoded).content else {
            throw CertificateFields.Fault.notACertificate
        }
        for name in names where name.identifier.tagClass == .contextSpecific {
            guard case .primitive(let bytes) = name.content else { continue }
            switch name.identifier.tagNumber {
            case 1: emailAddresses.append(String(decoding: bytes, as: UTF8.self))
            case 2: dnsNames.append(String(decoding: bytes, as: UTF8.self))
            default: break
            }
        }
    }
}

extension ASN1NodeCollection.Iterator {
    /// The next node, which is mandatory.
    mutating func take() throws -> ASN1Node {
        guard let node = next() else { throw CertificateFields.Fault.notACertificate }
        return node
    }
}

extension Date {
    /// A `Time` of RFC 5280, section 4.1.2.5: `UTCTime` counts from 1950 to 2049.
    fileprivate init(_ node: ASN1Node) throws {
        var parts = DateComponents()
        parts.calendar = Calendar(identifier: .gregorian)
        parts.timeZone = TimeZone(secondsFromGMT: 0)
        if node.identifier == .utcTime {
            let time = try UTCTime(derEncoded: node)
            (parts.year, parts.month, parts.day) = (time.year, time.month, time.day)
            (parts.hour, parts.minute, parts.second) = (time.hours, time.minutes, time.seconds)
        } else {
            let time = try GeneralizedTime(derEncoded: node)
            (parts.year, parts.month, parts.day) = (time.year, time.month, time.day)
            (parts.hour, parts.minute, parts.second) = (time.hours, time.minutes, time.seconds)
        }
        guard let date = parts.date else { throw CertificateFields.Fault.notACertificate }
        self = date
    }
}

extension ASN1ObjectIdentifier {
    fileprivate static let subjectAlternativeName: ASN1ObjectIdentifier = [2, 5, 29, 17]
}
