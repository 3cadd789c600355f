internal import Foundation
internal import SwiftASN1
internal import X509

/// A certificate revocation list (RFC 5280, section 5).
struct RevocationList: Sendable, Equatable {
    let issuer: DistinguishedName
    /// The revoked certificates of the issuer.
    let serialNumbers: Set<Certificate.SerialNumber>
    private let thisUpdate: Date
    private let nextUpdate: Date
    private let signedBytes: [UInt8]
    private let signature: [UInt8]
    private let algorithm: Certificate.SignatureAlgorithm

    /// Why a list is not accepted, in words.
    struct Fault: Error {
        let reason: String
    }

    /// Whether it has the signature of a certificate's key, which may sign lists.
    func isSigned(by issuer: Certificate) -> Bool {
        guard issuer.subject == self.issuer,
            let usage = try? issuer.extensions.keyUsage ?? KeyUsage(cRLSign: true)
        else { return false }
        return usage.cRLSign
            && issuer.publicKey.isValidSignature(signature, for: signedBytes, signatureAlgorithm: algorithm)
    }

    /// Whether it is the list of that time: a later one may revoke more.
    func isCurrent(at time: Date) -> Bool { thisUpdate <= time && time <= nextUpdate }
}

// MARK: Reading

extension RevocationList {
    /// The lists of a file, or of the `.crl` and `.pem` files of a directory, each in DER or PEM.
    ///
    /// - Throws: ``ConfigurationFault`` for a file without lists, or with one that is not accepted.
    static func read(_ path: String) throws(ConfigurationFault) -> [RevocationList] {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw ConfigurationFault(place: path, reason: "is no file or directory")
        }
        guard isDirectory.boolValue else { return try lists(in: path) }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw ConfigurationFault(place: path, reason: "cannot be read")
        }
        var all: [RevocationList] = []
        for name in names.sorted() where name.hasSuffix(".crl") || name.hasSuffix(".pem") {
            all += try lists(in: "\(path)/\(name)")
        }
        return all
    }

    private static func lists(in file: String) throws(ConfigurationFault) -> [RevocationList] {
        guard let content = FileManager.default.contents(atPath: file) else {
            throw ConfigurationFault(place: file, reason: "cannot be read")
        }
        var encoded = [[UInt8](content)]
        // DER begins with a SEQUENCE, which is no letter of PEM.
        if content.first != 0x30 {
            guard let text = String(data: content, encoding: .utf8),
                let documents = try? PEMDocument.parseMultiple(pemString: text), !documents.isEmpty,
                documents.allSatisfy({ $0.discriminator == "X509 CRL" })
            else { throw ConfigurationFault(place: file, reason: "holds no revocation list, in DER or PEM") }
            encoded = documents.map(\.derBytes)
        }
        do {
            return try encoded.map { try RevocationList(derEncoded: $0) }
        } catch let fault as Fault {
            throw ConfigurationFault(place: file, reason: "holds a revocation list \(fault.reason)")
        } catch {
            throw ConfigurationFault(place: file, reason: "holds a malformed revocation list")
        }
    }

    /// issuingDistributionPoint: critical, but it only says which certificates are not listed, unless the list is indirect.
    private static let distributionPoint: ASN1ObjectIdentifier = [2, 5, 29, 28]

    private static let algorithms: [ASN1ObjectIdentifier: Certificate.SignatureAlgorithm] = [
        [1, 2, 840, 10045, 4, 3, 2]: .ecdsaWithSHA256, [1, 2, 840, 10045, 4, 3, 3]: .ecdsaWithSHA384,
        [1, 2, 840, 10045, 4, 3, 4]: .ecdsaWithSHA512,
        [1, 2, 840, 113549, 1, 1, 11]: .sha256WithRSAEncryption,
        [1, 2, 840, 113549, 1, 1, 12]: .sha384WithRSAEncryption,
        [1, 2, 840, 113549, 1, 1, 13]: .sha512WithRSAEncryption,
    ]

    /// Parses a CertificateList; its signature is verified by ``isSigned(by:)``.
    ///
    /// - Throws: ``Fault``, and the library's error for a malformed list.
    init(derEncoded bytes: [UInt8]) throws {
        let (list, algorithm, signature) = try DER.sequence(try DER.parse(bytes), identifier: .sequence) {
            nodes in
            guard let list = nodes.next() else { throw Fault(reason: "that is empty") }
            return (list, try Self.algorithm(&nodes), Array(try ASN1BitString(derEncoded: &nodes).bytes))
        }
        self.algorithm = algorithm
        self.signature = signature
        signedBytes = Array(list.encodedBytes)
        var (issuer, times, serialNumbers) = (DistinguishedName(), [Date](), Set<Certificate.SerialNumber>())
        try DER.sequence(list, identifier: .sequence) { nodes in
            // Version 2; without extensions it is absent.
            if nodes.peek()?.identifier == .integer { _ = try Int(derEncoded: &nodes) }
            guard try Self.algorithm(&nodes) == algorithm else { throw Fault(reason: "with two algorithms") }
            guard let name = nodes.next() else { throw Fault(reason: "without an issuer") }
            issuer = try DistinguishedName(derEncoded: name)
            while let node = nodes.peek(), let time = try Self.time(node) {
                _ = nodes.next()
                times.append(time)
            }
            if let revoked = nodes.peek(), revoked.identifier == .sequence {
                _ = nodes.next()
                try DER.sequence(revoked, identifier: .sequence) { entries in
                    while let entry = entries.next() { serialNumbers.insert(try Self.serialNumber(entry)) }
                }
            }
            _ = try DER.optionalExplicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) { node in
                try Self.checkExtensions(node)
            }
        }
        guard times.count == 2 else { throw Fault(reason: "without the time of its next update") }
        (self.issuer, self.serialNumbers) = (issuer, serialNumbers)
        (thisUpdate, nextUpdate) = (times[0], times[1])
    }

    private static func algorithm(
        _ nodes: inout ASN1NodeCollection.Iterator
    ) throws -> Certificate.SignatureAlgorithm {
        guard let node = nodes.next() else { throw Fault(reason: "without an algorithm") }
        let name = try DER.sequence(node, identifier: .sequence) { nodes in
            let name = try ASN1ObjectIdentifier(derEncoded: &nodes)
            // The parameters are NULL, or absent.
            _ = nodes.next()
            return name
        }
        guard let algorithm = algorithms[name] else {
            throw Fault(reason: "signed with \(name), which is not accepted")
        }
        return algorithm
    }

    /// UTCTime or GeneralizedTime; nil for something else.
    private static func time(_ node: ASN1Node) throws -> Date? {
        var parts = DateComponents()
        switch node.identifier {
        case .utcTime:
            let time = try SwiftASN1.UTCTime(derEncoded: node)
            (parts.year, parts.month, parts.day) = (time.year, time.month, time.day)
            (parts.hour, parts.minute, parts.second) = (time.hours, time.minutes, time.seconds)
        case .generalizedTime:
            let time = try GeneralizedTime(derEncoded: node)
            (parts.year, parts.month, parts.day) = (time.year, time.month, time.day)
            (parts.hour, parts.minute, parts.second) = (time.hours, time.minutes, time.seconds)
        default: return nil
        }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        guard let date = calendar.date(from: parts) else { throw Fault(reason: "with a time that is none") }
        return date
    }

    private static func serialNumber(_ entry: ASN1Node) throws -> Certificate.SerialNumber {
        try DER.sequence(entry, identifier: .sequence) { nodes in
            let number = try ArraySlice<UInt8>(derEncoded: &nodes)
            guard let date = nodes.next(), try time(date) != nil else {
                throw Fault(reason: "with an entry without a date")
            }
            if let extensions = nodes.next() { try checkExtensions(extensions) }
            return Certificate.SerialNumber(bytes: number)
        }
    }

    /// Refuses critical extensions, such as those of a delta list and of an entry of another issuer.
    private static func checkExtensions(_ node: ASN1Node) throws {
        let extensions = try DER.sequence(
            of: Certificate.Extension.self,
            identifier: .sequence,
            rootNode: node
        )
        for one in extensions where one.critical {
            guard one.oid == distributionPoint, try !isIndirect(one) else {
                throw Fault(reason: "with the critical extension \(one.oid), which is not accepted")
            }
        }
    }

    /// Whether an issuingDistributionPoint has `indirectCRL [4]`, which is only encoded where it is true.
    private static func isIndirect(_ point: Certificate.Extension) throws -> Bool {
        try DER.sequence(try DER.parse(point.value), identifier: .sequence) { nodes in
            var isIndirect = false
            while let node = nodes.next() {
                if node.identifier == ASN1Identifier(tagWithNumber: 4, tagClass: .contextSpecific) {
                    isIndirect = true
                }
            }
            return isIndirect
        }
    }
}

extension ASN1NodeCollection.Iterator {
    /// The next node, which stays the next one.
    fileprivate func peek() -> ASN1Node? {
        var copy = self
        return copy.next()
    }
}
