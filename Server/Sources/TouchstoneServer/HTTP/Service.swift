internal import AccountStore
internal import Foundation
internal import Logging
internal import RelyingParty
internal import WebAuthn
internal import X509

/// The settings, the store and the keys for the operations; without state of its own, so that several processes can
/// serve one store, and one service can replace another (``CurrentService``).
final class Service: Sendable {
    let configuration: ServerConfiguration
    let store: any AccountStore
    let secrets: ServerSecrets
    let nonces: DPoPNonces
    let authority: AttestationAuthority
    let endorsement: EndorsementPolicy
    let bootState: BootStatePolicy
    /// Verifies passkeys, and every login.
    let passkeys: RelyingParty
    /// Verifies registrations of kind `device`.
    let devices: RelyingParty
    let passwords: PasswordChecker
    let passwordPolicy: PasswordPolicy
    let serviceSecrets: ServiceSecrets
    let audiences: Audiences
    let tokenSigner: TokenSigner
    /// Where notices for users go; nil: nowhere.
    let mailHook: MailHook?
    let cookies: SessionCookies
    /// The account page; nil: disabled in the configuration.
    let page: PageFiles?
    /// Origins of pages that may make changes with a session in cookies.
    let callingOrigins: Set<String>
    /// Other origins whose pages may call the API.
    let crossOrigin: CrossOrigin
    /// The trust anchors of the setting `attestation-roots`.
    let attestationRoots: [Certificate]
    let metrics: ServerMetrics
    let logger: Logger

    /// Creates a service on an open and migrated store.
    ///
    /// - Throws: ``ConfigurationFault`` for files that cannot be read; ``StoreError``.
    convenience init(
        _ configuration: ServerConfiguration,
        store: any AccountStore,
        registry: PrometheusRegistry,
        logger: Logger
    ) async throws {
        let metrics = ServerMetrics(registry)
        let secrets = try await ServerSecrets(store)
        try self.init(
            configuration,
            Lasting(
                store: store,
                secrets: secrets,
                authority: try AttestationAuthority(directory: configuration.dataDirectory),
                tokenSigner: TokenSigner(),
                metrics: metrics,
                logger: logger
            ),
            PasswordChecker(configuration, processors: Processors.count, metrics)
        )
    }

    /// Creates a service with other settings on the store and the keys of a former one.
    ///
    /// - Throws: ``ConfigurationFault`` for files that cannot be read.
    convenience init(_ configuration: ServerConfiguration, replacing former: Service) throws {
        let old = former.configuration
        let isSame =
            old.passwordWorkers == configuration.passwordWorkers
            && old.passwordQueue == configuration.passwordQueue
            && old.passwordCost == configuration.passwordCost
        try self.init(
            configuration,
            Lasting(
                store: former.store,
                secrets: former.secrets,
                authority: former.authority,
                tokenSigner: former.tokenSigner,
                metrics: former.metrics,
                logger: former.logger
            ),
            isSame
                ? former.passwords
                : PasswordChecker(configuration, processors: Processors.count, former.metrics)
        )
    }

    /// What stays when settings change.
    private struct Lasting {
        let store: any AccountStore
        let secrets: ServerSecrets
        let authority: AttestationAuthority
        let tokenSigner: TokenSigner
        let metrics: ServerMetrics
        let logger: Logger
    }

    private init(_ configuration: ServerConfiguration, _ lasting: Lasting, _ passwords: PasswordChecker)
        throws
    {
        self.configuration = configuration
        store = lasting.store
        logger = lasting.logger
        metrics = lasting.metrics
        secrets = lasting.secrets
        nonces = DPoPNonces(key: secrets.nonces)
        authority = lasting.authority
        tokenSigner = lasting.tokenSigner
        self.passwords = passwords
        endorsement = try EndorsementPolicy(configuration)
        bootState = try BootStatePolicy(configuration)
        passwordPolicy = PasswordPolicy(minimum: configuration.passwordMinimum)
        serviceSecrets = try ServiceSecrets(configuration)
        audiences = try Audiences(configuration)
        mailHook = try MailHook(configuration)
        cookies = SessionCookies(isSecure: PublicURL(configuration.publicURL)?.scheme == "https")
        page =
            configuration.accountPage
            ? try PageFiles(
                relyingParty: configuration.rpName,
                selfRegistration: configuration.selfRegistration,
                language: configuration.pageLanguage.language,
                colour: configuration.pageColour
            ) : nil
        callingOrigins = configuration.corsOrigins.union([configuration.publicOrigin])
        crossOrigin = CrossOrigin(origins: configuration.corsOrigins)
        attestationRoots = try configuration.attestationRoots.map(CertificateFolder.read) ?? []
        let anchors = attestationRoots + [authority.certificate]
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
    /// An audit event of this request; with a mail hook, its account's owner is told of it.
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
            details: details,
            notice: hasMailHook
                ? NoticeRequest(expiresAt: now + Notice.lifetime, byAdministrator: isOfAdministrator) : nil
        )
    }

    private var isOfAdministrator: Bool { if case .admin = caller { true } else { false } }
}
