internal import Foundation
internal import SwiftASN1
internal import WebAuthn
internal import X509

/// Which endorsement keys are trusted: the setting `endorsement`, with the files it names.
struct EndorsementPolicy: Sendable, Equatable {
    private let trust: EndorsementTrust
    private let roots: [Certificate]
    private let anchors: Set<[UInt8]>
    private let revocations: [RevocationList]

    /// Why a chip is refused; shown to an authenticated user.
    struct Refusal: Error {
        let code: Problem.Code
        let detail: String
    }

    /// - Throws: ``ConfigurationFault`` for a file that cannot be read.
    init(_ configuration: ServerConfiguration) throws(ConfigurationFault) {
        trust = configuration.endorsement
        roots = try configuration.endorsementRoots.map(CertificateFolder.read) ?? []
        anchors = try configuration.endorsementList.map(DigestList.read) ?? []
        revocations = try configuration.endorsementRevoked.map(RevocationList.read) ?? []
    }

    /// The chip that these certificates, or this public area, identify.
    ///
    /// - Parameters:
    ///   - certificates: DER, the endorsement key's certificate first; if empty, `publicArea` is required.
    ///   - publicArea: TPMT_PUBLIC of the endorsement key.
    /// - Returns: the chip, trusted according to the setting.
    /// - Throws: ``Refusal``.
    func chip(certificates: [[UInt8]], publicArea: [UInt8]?) async throws(Refusal) -> EndorsedChip {
        guard trust != .none else {
            throw Refusal(code: .attestationUntrusted, detail: "this server certifies no chips")
        }
        let chain = certificates.compactMap { try? Certificate(derEncoded: $0) }
        guard chain.count == certificates.count else {
            throw Refusal(code: .attestationRejected, detail: "a certificate cannot be read")
        }
        let area = publicArea.flatMap { try? TPMPublicArea(parsing: $0) }
        guard
            let chip = chain.first.map(EndorsedChip.init(certificate:))
                ?? area.flatMap(EndorsedChip.init(area:))
        else {
            throw Refusal(
                code: .attestationRejected,
                detail: "no endorsement key on P-256 or P-384, or of RSA with 2048 bits"
            )
        }
        switch trust {
        case .none, .any: break
        case .list:
            guard anchors.contains(chip.anchor) else {
                throw Refusal(code: .attestationUntrusted, detail: "the chip is not on the list")
            }
        case .roots:
            guard let leaf = chain.first, let found = await path(from: leaf, chain.dropFirst()) else {
                throw Refusal(
                    code: .attestationUntrusted,
                    detail: "the endorsement certificate leads to no maker that is trusted"
                )
            }
            try requireUnrevoked(found)
        }
        return chip
    }

    /// The certificates from an endorsement key's to a root; nil if there is no valid path.
    private func path(
        from leaf: Certificate,
        _ intermediates: ArraySlice<Certificate>
    ) async -> ValidatedCertificateChain? {
        var verifier = Verifier(rootCertificates: CertificateStore(roots)) {
            RFC5280Policy()
            EndorsementExtensions()
        }
        let result = await verifier.validate(leaf: leaf, intermediates: CertificateStore(intermediates))
        guard case .validCertificate(let path) = result else { return nil }
        return path
    }

    /// Checks each certificate of a path against the lists of its issuer; one whose issuer has no list is not checked.
    private func requireUnrevoked(_ path: ValidatedCertificateChain) throws(Refusal) {
        let now = Date()
        for (certificate, issuer) in zip(path, path.dropFirst()) {
            let lists = revocations.filter { $0.issuer == certificate.issuer }
            guard !lists.isEmpty else { continue }
            let signed = lists.filter { $0.isSigned(by: issuer) }
            if signed.contains(where: { $0.serialNumbers.contains(certificate.serialNumber) }) {
                throw Refusal(
                    code: .attestationRevoked,
                    detail: path.first == certificate
                        ? "the endorsement certificate is revoked"
                        : "a certificate of the chip's maker is revoked"
                )
            }
            guard signed.contains(where: { $0.isCurrent(at: now) }) else {
                throw Refusal(
                    code: .attestationUntrusted,
                    detail: signed.isEmpty
                        ? "the revocation list of the certificate's issuer is signed by another key"
                        : "the revocation list of the certificate's issuer is out of date"
                )
            }
        }
    }
}

/// Critical extensions of endorsement certificates beyond those that `RFC5280Policy` handles.
private struct EndorsementExtensions: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = [
        .X509ExtensionID.subjectAlternativeName, [2, 5, 29, 32], .X509ExtensionID.extendedKeyUsage,
    ]

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) async -> PolicyEvaluationResult {
        .meetsPolicy
    }
}

/// The certificates in a directory of PEM files.
enum CertificateFolder {
    /// - Throws: ``ConfigurationFault`` for a file without certificates.
    static func read(_ path: String) throws(ConfigurationFault) -> [Certificate] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw ConfigurationFault(place: path, reason: "is no directory that can be read")
        }
        var certificates: [Certificate] = []
        for name in names.sorted() where name.hasSuffix(".pem") || name.hasSuffix(".crt") {
            let file = "\(path)/\(name)"
            guard let text = try? String(contentsOfFile: file, encoding: .utf8),
                let documents = try? PEMDocument.parseMultiple(pemString: text), !documents.isEmpty
            else { throw ConfigurationFault(place: file, reason: "holds no PEM") }
            for document in documents {
                guard let certificate = try? Certificate(pemDocument: document) else {
                    throw ConfigurationFault(place: file, reason: "holds something that is no certificate")
                }
                certificates.append(certificate)
            }
        }
        return certificates
    }
}
