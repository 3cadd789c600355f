internal import AccountStore
internal import Crypto
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import RelyingParty
internal import SwiftASN1
internal import WebAuthn
internal import WebAuthnModel
internal import X509

/// The attestation CA: the client sends an endorsement key, gets a secret that only its chip can decrypt, and exchanges
/// it for a certificate of an attestation key in the same chip (TPM 2.0 Part 1, section 24).
enum AttestationRoutes {
    static let operations: [Operation] = [
        Operation(.post, "/v1/attestation/ak", "beginActivation", .session, tasks: [.setUp], handle: begin),
        Operation(
            .post,
            "/v1/attestation/ak/{id}",
            "completeActivation",
            .session,
            tasks: [.setUp],
            handle: complete
        ),
    ]

    /// An attestation key only signs structures that the chip generated, and cannot leave the chip.
    private static let demanded: TPMObjectAttributes = [
        .fixedTPM, .fixedParent, .sensitiveDataOrigin, .restricted, .sign,
    ]

    private static func begin(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let certificates = reader.optionalByteArrays("ekCertificates", elements: 1...8, count: 1...8192) ?? []
        let endorsement = reader.optionalBytes("ekPublic", count: 1...1024)
        let attestation = reader.bytes("akPublic", count: 1...1024)
        try reader.finish()
        guard !certificates.isEmpty || endorsement != nil else {
            throw Problem(.invalidRequest, "either ekCertificates or ekPublic is needed")
        }
        let chip: EndorsedChip
        do throws(EndorsementPolicy.Refusal) {
            chip = try await service.endorsement.chip(certificates: certificates, publicArea: endorsement)
        } catch {
            throw await refusal(Problem(error.code, error.detail), service, caller, call)
        }
        guard let area = try? TPMPublicArea(parsing: attestation), area.attributes.isSuperset(of: demanded),
            let name = area.name, let point = area.x963Representation,
            let key = try? P256.Signing.PublicKey(x963Representation: point)
        else {
            let problem = Problem(
                .attestationRejected,
                "akPublic is no restricted signing key on P-256 that is bound to its chip"
            )
            throw await refusal(problem, service, caller, call)
        }
        let secret = Random.bytes(32)
        let activation = try CredentialActivation(secret: secret, name: name, to: chip.key)
        let id = ActivationID.random(byteCount: 32)
        let expiresAt = call.now + .seconds(service.configuration.ceremonyLifetime)
        try await service.store.openActivation(
            Activation(
                id: id,
                account: caller.account.id,
                secretDigest: Array(SHA256.hash(data: secret)),
                // The certificate is created now, while the chip's names are known, but issued only for the secret.
                certificate: try service.authority.issue(key, for: chip),
                deviceAnchor: chip.anchor,
                expiresAt: expiresAt
            ),
            now: call.now
        )
        return .json(
            JSONValue(members: [
                "id": JSONValue(base64URL: id.bytes),
                "credentialBlob": JSONValue(base64URL: activation.credentialBlob),
                "encryptedSecret": JSONValue(base64URL: activation.encryptedSecret),
                "quoteNonce": service.bootState.nonce(for: id).map { JSONValue(base64URL: $0) },
                "expiresAt": .integer(expiresAt.seconds),
            ]),
            status: .created
        )
    }

    private static func complete(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        let id = ActivationID(try call.identifierBytes())
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let secret = reader.bytes("secret", count: 1...64)
        let statement = reader.optionalBytes("quote", count: 1...1024)
        let signature = reader.optionalBytes("quoteSignature", count: 1...128)
        try reader.finish()
        let quote = statement.map { BootStatePolicy.Quote(statement: $0, signature: signature ?? []) }
        guard
            let activation = try await service.store.consumeActivation(
                id,
                of: caller.account.id,
                now: call.now
            )
        else { throw Problem(.ceremonyExpired) }
        // The secret is random and valid once, so the time of comparing digests reveals nothing.
        guard Array(SHA256.hash(data: secret)) == activation.secretDigest else {
            let problem = Problem(.attestationRejected, "this is not the secret")
            throw await refusal(problem, service, caller, call)
        }
        let certificate = try Certificate(derEncoded: activation.certificate)
        guard let key = P256.Signing.PublicKey(certificate.publicKey) else { throw Problem(.internalError) }
        let bootState: [UInt8]?
        do throws(EndorsementPolicy.Refusal) {
            bootState = try service.bootState.state(of: quote, for: id, by: key)
        } catch {
            throw await refusal(Problem(error.code, error.detail), service, caller, call)
        }
        try await service.store.recordAttestationKey(
            AttestationKey(
                certificateDigest: Array(SHA256.hash(data: activation.certificate)),
                account: caller.account.id,
                deviceAnchor: activation.deviceAnchor,
                expiresAt: Timestamp(seconds: Int64(certificate.notValidAfter.timeIntervalSince1970))
            ),
            audit: call.event(
                .attestationKeyCertified,
                account: caller.account.id,
                session: caller.session.id,
                details: details(of: activation, bootState)
            ),
            now: call.now
        )
        // Without the root: verifiers have their own, and ignore one that a client sends.
        return .json(["x5c": .array([JSONValue(base64URL: activation.certificate)])])
    }

    /// What the audit log says of a certified key: the chip, and what its machine was started with, if that is known.
    private static func details(of activation: Activation, _ bootState: [UInt8]?) -> String {
        let state = bootState.map { ",\"bootState\":\"\($0.hexadecimal)\"" } ?? ""
        return "{\"anchor\":\"\(activation.deviceAnchor.hexadecimal)\"\(state)}"
    }

    private static func refusal(
        _ problem: Problem,
        _ service: Service,
        _ caller: AuthenticatedSession,
        _ call: Call
    ) async -> Problem {
        await service.audit(
            call.event(
                .attestationRejected,
                account: caller.account.id,
                session: caller.session.id,
                reason: problem.code.rawValue
            ),
            at: call.now
        )
        return problem
    }
}
