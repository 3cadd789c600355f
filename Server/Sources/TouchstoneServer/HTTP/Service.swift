internal import AccountStore
internal import Foundation
internal import Logging
internal import RelyingParty
internal import WebAuthn

/// The settings, the store and the keys for the operations; without state of its own, so that several processes can
/// serve one store.
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
    /// The account page; nil: disabled in the configuration.
    let page: PageFiles?
    /// Origins of pages that may make changes with a session in cookies.
    let callingOrigins: Set<String>
    let metrics: ServerMetrics
    let logger: Logger

    /// Creates a service on an open and migrated store.
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
        var passkeys = RelyingParty(
            id: configuration.relyingPartyID,
            origins: configuration.acceptedOrigins,
            topOrigins: configuration.topOrigins,
            attestation: AttestationPolicy(
                trustAnchors: anchors,
                acceptsUntrusted: configuration.profile != .aal3
            ),
            rules: hardware
        )
        // The store does, with the counter that is stored then.
        passkeys.signCounter = .comparedByCaller
        self.passkeys = passkeys
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

    /// Writes an audit event outside of other store operations; a failure is logged and counted.
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
    /// The policy of our devices' keys: the authorisation value, which only the daemon has, and uses only for a
    /// verified user.
    static let ours = TPMKeyPolicy(accepted: [[.authValue]])
}

extension Call {
    /// An audit event of this request.
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
