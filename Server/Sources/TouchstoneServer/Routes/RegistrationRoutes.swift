internal import AccountStore
internal import Crypto
internal import HTTPTypes
internal import Hummingbird
internal import RelyingParty
internal import SwiftASN1
internal import WebAuthn
internal import WebAuthnModel
internal import X509

/// Registering a credential.
enum RegistrationRoutes {
    static let operations: [Operation] = [
        Operation(
            .post,
            "/v1/credentials/options",
            "credentialOptions",
            .fresh,
            tasks: [.setUp],
            handle: options
        ),
        Operation(.post, "/v1/credentials", "registerCredential", .fresh, tasks: [.setUp], handle: register),
    ]

    private static func options(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let kind = reader.choice("kind", default: Credential.Kind.passkey)
        let label = reader.optionalLabel("label")
        let hardware = reader.optionalString("hardware", bytes: 1...32)
        try reader.finish()
        guard kind == .passkey || service.acceptsDevice(with: hardware) else {
            // Before a prompt is shown for it.
            throw Problem(.attestationUntrusted, "a device needs a key in a chip that this server trusts")
        }
        let account = caller.account
        let existing = try await service.store.credentials(of: account.id)
        let relyingParty = kind == .device ? service.devices : service.passkeys
        let options = PublicKeyCredentialCreationOptions(
            rp: RelyingPartyEntity(id: relyingParty.id, name: service.configuration.rpName),
            user: UserEntity(id: account.id.bytes, name: account.username, displayName: account.displayName),
            challenge: Random.bytes(32),
            algorithms: relyingParty.algorithms,
            timeout: .seconds(service.configuration.ceremonyLifetime),
            excludeCredentials: existing.map {
                PublicKeyCredentialDescriptor(id: $0.id.bytes, transports: $0.transports)
            },
            authenticatorSelection: AuthenticatorSelectionCriteria(
                residentKey: kind == .passkey ? "required" : "preferred"
            ),
            attestation: kind == .device || service.demandsAttestation ? "direct" : "none"
        )
        let publicKey = try JSONValue(encoding: options)
        return try await service.open(
            .registration,
            account: account.id,
            session: caller.session,
            publicKey: publicKey,
            kept: JSONValue(members: [
                "kind": .string(kind.rawValue), "label": label.map { .string($0) }, "publicKey": publicKey,
            ]),
            call
        )
    }

    private static func register(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let id = reader.bytes("ceremonyId", count: 16...64)
        let json = reader.object("credential")
        let label = reader.optionalLabel("label")
        let replaced = reader.optionalBytes("replaces", count: 1...1023)
        try reader.finish()
        let response = try CredentialResponse.registration(json)
        guard
            let taken = try await service.store.consumeCeremony(
                CeremonyID(id),
                presenting: nil,
                now: call.now
            ),
            taken.ceremony.purpose == .registration, taken.ceremony.session == caller.session.id,
            let kept = try? JSONValue(parsing: Array(taken.ceremony.options.utf8)).object,
            let kind = kept["kind"]?.string.flatMap(Credential.Kind.init),
            let options = KeptOptions(kept["publicKey"])
        else {
            await service.audit(
                call.event(.sequenceFail, account: caller.account.id, reason: "ceremony_expired"),
                at: call.now
            )
            throw Problem(.ceremonyExpired)
        }
        let relyingParty = kind == .device ? service.devices : service.passkeys
        let registration: Registration
        do throws(WebAuthnError) {
            registration = try await relyingParty.verify(
                response,
                for: RegistrationCeremony(challenge: options.challenge, algorithms: relyingParty.algorithms)
            )
        } catch {
            throw await service.refusal(of: error, caller, call)
        }
        let credential = try await record(
            registration,
            response,
            kind,
            label ?? kept["label"]?.string ?? standardLabel(kind, registration),
            caller.proof,
            service,
            caller,
            call
        )
        guard service.configuration.requiredAssuranceLogin.canBeMet(by: credential) else {
            throw await service.refusal(
                Problem(.attestationUntrusted, "it could never sign in (require-assurance-login)"),
                reason: WebAuthnError.Reason.untrustedAttestation.rawValue,
                cause: "require-assurance-login",
                caller,
                call
            )
        }
        let stored = try await service.store.registerCredential(
            credential,
            keeping: caller.session.id,
            task: caller.session.task,
            replacing: replaced.map { CredentialID($0) },
            audit: call.event(
                .credentialRegistered,
                account: caller.account.id,
                session: caller.session.id,
                credential: credential.id,
                reason: credential.assurance.rawValue,
                details: credential.consent.map { #"{"consent":\#($0)}"# } ?? ""
            ),
            now: call.now
        ).credential
        service.metrics.registration(format: registration.attestation.format, outcome: "success")
        var reply = Reply.json(service.json(of: stored), status: .created)
            .with(.location, "/v1/credentials/\(Base64URL.encode(credential.id.bytes))")
        service.endTask(of: caller, on: &reply)
        return reply
    }

    /// The label of a credential that the client gave none.
    private static func standardLabel(_ kind: Credential.Kind, _ registration: Registration) -> String {
        kind == .device ? "Device" : PasskeyProvider.name(aaguid: registration.aaguid) ?? "Passkey"
    }

    private static func record(
        _ registration: Registration,
        _ response: RegistrationResponse,
        _ kind: Credential.Kind,
        _ label: String,
        _ proof: VerifiedProof?,
        _ service: Service,
        _ caller: AuthenticatedSession,
        _ call: Call
    ) async throws -> Credential {
        let attestation = registration.attestation
        let assurance: Credential.Assurance =
            switch attestation.type {
            case .none: .none
            case .selfAttestation: .selfAttested
            case .basic, .attestationCA:
                !attestation.isTrusted ? .selfAttested : attestation.tpm == nil ? .basic : .tpm
            }
        return Credential(
            id: CredentialID(registration.record.id),
            account: caller.account.id,
            kind: kind,
            label: label,
            publicKey: registration.record.publicKey,
            signCount: registration.record.signCount,
            uvInitialized: registration.record.uvInitialized,
            backupEligible: registration.record.backupEligible,
            backupState: registration.record.backupState,
            isHardwareBound: registration.record.isHardwareBound,
            transports: registration.record.transports,
            aaguid: registration.aaguid,
            assurance: assurance,
            uvEvidence: (try? TPMKeyPolicy.ours.check(registration)) == nil ? .flag : .tpmPolicy,
            deviceAnchor: try await service.deviceAnchor(of: attestation, call),
            thumbprint: kind == .device ? proof?.thumbprint : nil,
            createdAt: call.now,
            // Without an attestation nothing signed it.
            statement: assurance == .none ? nil : DeviceStatement(in: response.clientDataJSON)?.kept,
            consent: assurance == .none ? nil : DeviceConsent(in: response.clientDataJSON)?.json
        )
    }
}

extension Service {
    /// The error of a refused registration, after it is in the audit.
    ///
    /// The user is authenticated here, so the response may name the failed step; the cause is only for the audit.
    func refusal(of error: WebAuthnError, _ caller: AuthenticatedSession, _ call: Call) async -> Problem {
        let reason = error.reason.rawValue
        let code: Problem.Code =
            switch error.reason {
            case .untrustedAttestation: .attestationUntrusted
            case .refusedByRule where error.step == "\(TPMKeyPolicy.self)": .keyPolicyRejected
            default: .attestationRejected
            }
        return await refusal(
            Problem(code, "\(reason) (\(error.step))"),
            reason: reason,
            cause: String(error.description.prefix(256)),
            caller,
            call
        )
    }

    fileprivate func refusal(
        _ problem: Problem,
        reason: String,
        cause: String,
        _ caller: AuthenticatedSession,
        _ call: Call
    ) async -> Problem {
        let details = (try? CanonicalJSON.encode(["cause": .string(cause)])) ?? []
        await audit(
            call.event(
                .attestationRejected,
                account: caller.account.id,
                session: caller.session.id,
                reason: reason,
                details: String(decoding: details, as: UTF8.self)
            ),
            at: call.now
        )
        metrics.registration(format: "unknown", outcome: reason)
        return problem
    }

    /// The SHA-256 of the endorsement key of the chip that made an attestation; nil if this server's CA did not certify it.
    func deviceAnchor(of attestation: Attestation, _ call: Call) async throws -> [UInt8]? {
        guard attestation.isTrusted, let certificate = attestation.trustPath.first else { return nil }
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        let digest = Array(SHA256.hash(data: serializer.serializedBytes))
        return try await store.attestationKey(certificateDigest: digest, now: call.now)?.deviceAnchor
    }

    /// Whether credentials are of use here only with an attestation.
    var demandsAttestation: Bool {
        configuration.profile == .aal3 || configuration.requiredAssuranceLogin.level == .high
    }

    /// Whether a device whose keys have this protection, a word of `Touchstone`'s `HardwareLevel`, may be accepted; nil for a client
    /// that says nothing.
    func acceptsDevice(with hardware: String?) -> Bool {
        let hasNoChip = hardware.map { ["software", "separateAccount"].contains($0) } ?? false
        return (!hasNoChip || configuration.deviceAttestation == .any && configuration.profile != .aal3)
            && configuration.requiredAssuranceLogin.canBeMet(by: hardware)
    }
}
