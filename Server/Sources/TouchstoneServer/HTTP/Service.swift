internal import AccountStore
internal import Foundation
internal import Logging
internal import RelyingParty
internal import WebAuthn

/// All that the operations work with: settings, store, keys, and no state of its own, so that several processes can serve
/// one store.
final class Service: Sendable {
    let configuration: ServerConfiguration
    let store: any AccountStore
    let secrets: ServerSecrets
    let nonces: DPoPNonces
    let authority: AttestationAuthority
    let endorsement: EndorsementPolicy
    /// Verifies passkeys, and every login.
    let passkeys: RelyingParty
    /// Verifies registrations of kind `device`.
    let devices: RelyingParty
    let passwords: PasswordChecker
    let passwordPolicy: PasswordPolicy
    let serviceSecret: ServiceSecret?
    let cookies: SessionCookies
    /// The page for an account; nil: the configuration wants none.
    let page: PageFiles?
    /// Pages that may change something with the session that their cookies hold.
    let callingOrigins: Set<String>
    let metrics: ServerMetrics
    let logger: Logger

    /// Takes a store that is open and migrated.
    ///
    /// - Throws: ``ConfigurationFault`` for files that cannot be read; ``StoreError``.
    init(
        _ configuration: ServerConfiguration,
        store: any AccountStore,
        registry: PrometheusRegistry,
        logger: Logger
    ) async throws {
        self.configuration = configuration
        self.store = store
        self.logger = logger
        metrics = ServerMetrics(registry)
        secrets = try await ServerSecrets(store)
        nonces = DPoPNonces(key: secrets.nonces)
        authority = try AttestationAuthority(directory: configuration.dataDirectory)
        endorsement = try EndorsementPolicy(configuration)
        passwords = try PasswordChecker(
            configuration,
            processors: Processors.count,
            metrics
        )
        passwordPolicy = PasswordPolicy(minimum: configuration.passwordMinimum)
        serviceSecret = try configuration.serviceSecretFile.map(ServiceSecret.init)
        cookies = SessionCookies(isSecure: PublicURL(configuration.publicURL)?.scheme == "https")
        page = configuration.accountPage ? PageFiles(relyingParty: configuration.rpName) : nil
        callingOrigins = configuration.corsOrigins.union([configuration.publicOrigin])
        let anchors =
            try (configuration.attestationRoots.map(CertificateFolder.read) ?? []) + [authority.certificate]
        let hardware: [any RegistrationRule] =
            configuration.profile == .aal3 ? [HardwareBoundKey(), NotBackedUp()] : []
        passkeys = RelyingParty(
            id: configuration.relyingPartyID,
            origins: configuration.acceptedOrigins,
            topOrigins: configuration.topOrigins,
            attestation: AttestationPolicy(
                trustAnchors: anchors,
                acceptsUntrusted: configuration.profile != .aal3
            ),
            rules: hardware
        )
        var devices = passkeys
        switch configuration.deviceAttestation {
        case .any: break
        case .hardware: devices.rules = [HardwareBoundKey(), NotBackedUp()]
        case .policy: devices.rules = [HardwareBoundKey(), NotBackedUp(), TPMKeyPolicy.ours]
        }
        if configuration.deviceAttestation != .any {
            devices.attestation.acceptsUntrusted = false
            devices.attestation.acceptsUnattested = false
        }
        self.devices = devices
    }

    /// Writes to the audit what no other operation of the store writes; that it cannot be written is logged and counted.
    func audit(_ event: AuditEvent, at now: Timestamp) async {
        do throws(StoreError) {
            try await store.record([event], now: now)
        } catch {
            metrics.auditFailed()
            logger.error("audit: \(error)", metadata: ["event": "\(event.name.rawValue)"])
        }
    }
}

extension TPMKeyPolicy {
    /// What our device's keys want: the authorisation value, which only the daemon has, and only for a verified user.
    static let ours = TPMKeyPolicy(accepted: [[.authValue]])
}

extension Call {
    /// An event of this request.
    func event(
        _ name: AuditEvent.Name,
        account: AccountID? = nil,
        session: SessionID? = nil,
        credential: CredentialID? = nil,
        reason: String = "",
        details: String = ""
    ) -> AuditEvent {
        AuditEvent(
            name,
            account: account,
            session: session,
            credential: credential,
            address: address,
            trace: traceID,
            reason: reason,
            details: details
        )
    }
}
