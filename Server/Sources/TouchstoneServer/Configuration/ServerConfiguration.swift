internal import Logging
public import RelyingParty

/// All settings of the server, each with a default that is safe on localhost.
public struct ServerConfiguration: Sendable {
    // MARK: Places

    /// The API's address to listen on.
    public var listen = ListenAddress(host: "127.0.0.1", port: 8080)
    /// The address for administrators, metrics and health probes.
    public var adminListen = ListenAddress(host: "127.0.0.1", port: 8081)
    /// The API's URL for clients: `htu` of DPoP proofs, links and the issuer are derived from it, never from `Host`.
    public var publicURL = "http://localhost:8080"
    /// The directory of the server's own keys and of the SQLite file.
    public var dataDirectory: String
    /// A path, or `postgresql://…`; nil: `accounts.sqlite` in ``dataDirectory``.
    public var database: String?
    /// The certificate chain, PEM.
    ///
    /// Without certificate and key the server speaks plain HTTP, for a reverse proxy.
    public var tlsCertificate: String?
    /// The private key of ``tlsCertificate``, PEM.
    public var tlsKey: String?
    /// Whether the admin port has TLS as well, with the same certificate.
    public var adminTLS = false
    /// The networks of proxies whose ``clientAddressHeader`` is trusted.
    public var trustedProxies: [IPNetwork] = []
    /// The header field in which they name the client.
    public var clientAddressHeader = ClientAddressHeader.xForwardedFor

    // MARK: Relying party

    /// The RP ID, a domain name; nil: the host of ``publicURL``.
    public var rpID: String?
    /// The relying party's display name.
    public var rpName = "Touchstone"
    /// Accepted origins, compared byte for byte; nil: the origin of ``publicURL``.
    public var origins: [String]?
    /// Origins of pages in whose frames a ceremony may run.
    public var topOrigins: [String] = []

    /// Whether the options for a given name list its credentials; else they are those without a name.
    public var passkeyHints = true

    // MARK: Pages

    /// Whether the account page is served, at ``publicURL``.
    public var accountPage = true
    /// The language of the account page for visitors who chose none.
    public var pageLanguage = PageLanguageSetting.auto
    /// The colour of the account page's buttons; nil: its own.
    public var pageColour: PageColour?
    /// Other origins whose pages may call the API from a browser, also with the session's cookies.
    public var corsOrigins: Set<String> = []

    /// Whether people can make accounts for themselves.
    public var selfRegistration = false

    // MARK: Lifetimes

    /// The profile that determines the lifetime of sessions.
    public var profile = SessionProfile.consumer
    /// The lifetime of an access token, in seconds.
    public var accessTokenLifetime = 300
    /// Seconds after which a session has to be renewed; nil: the profile's value.
    public var sessionIdle: Int?
    /// Seconds after which a session ends in any case; nil: the profile's value.
    public var sessionLifetime: Int?
    /// Seconds for which an authentication is fresh.
    public var freshness = 300
    /// The time limit of a ceremony, in seconds.
    public var ceremonyLifetime = 300
    /// Days after its registration for which the key of a device signs in; 0: without limit.
    public var deviceKeyLifetime = 0
    /// Hours for which audit records are kept; 0: without limit.
    public var auditRetention = 720
    /// A file to which heads of the audit are appended, for ``ServerProgram/verifyAudit(_:head:progress:)``; nil: none.
    public var auditHeadFile: String?
    /// Seconds between two times at which heads are appended.
    public var auditHeadInterval = 60

    // MARK: Limits

    /// The number of failed passwords from one address per minute beyond which only names without failures pass.
    public var passwordsPerMinute = 20
    /// The number of failed passkey sign-ins from one address per minute beyond which only names without failures can
    /// begin one.
    public var ceremoniesPerMinute = 60
    /// The maximum number of ceremonies opened from one address per minute, failed or not: it bounds the table.
    var openedCeremoniesPerMinute: Int { ceremoniesPerMinute * 20 }
    /// The cost of a password derivation.
    public var passwordCost = PasswordHash.Cost.standard
    /// The number of concurrent derivations; nil: the number of processors.
    public var passwordWorkers: Int?
    /// The maximum number of waiting derivations; nil: four times ``passwordWorkers``.
    public var passwordQueue: Int?
    /// The minimum length of a password, in characters.
    public var passwordMinimum = 8

    /// Seconds within which a whole request, head and body, must arrive; also the idle limit of a connection.
    public var requestTimeout = 60
    /// Seconds for which a shutdown waits for requests in progress; below systemd's and Kubernetes' limits of 90 and 30.
    public var shutdownTimeout = 25

    // MARK: Attestation

    /// The attestation required for a credential of kind `device`.
    public var deviceAttestation = DeviceAttestation.any
    /// What a login must be worth.
    public var requiredAssuranceLogin = AssuranceDemand.none
    /// What an authentication again, and the session that changes credentials, must be worth.
    public var requiredAssuranceStepUp = AssuranceDemand.none
    /// What the approval of a transaction must be worth.
    public var requiredAssuranceTransaction = AssuranceDemand.none
    /// Which chips the attestation CA certifies.
    public var endorsement = EndorsementTrust.none
    /// A directory of PEM files: the manufacturers' root certificates for endorsement keys.
    public var endorsementRoots: String?
    /// A file with one hexadecimal SHA-256 of an endorsement key per line.
    public var endorsementList: String?
    /// A file or a directory with the revocation lists of manufacturers; nil: no certificate is compared with one.
    public var endorsementRevoked: String?
    /// What a chip has to quote of the boot state before its attestation key is certified.
    public var bootState = BootStateDemand.none
    /// A file with one hexadecimal digest of an accepted boot state per line.
    public var bootStates: String?
    /// A directory of PEM files: trust anchors for attestations of passkeys and devices, in addition to the server's
    /// own CA.
    public var attestationRoots: String?

    // MARK: Others

    /// A file with the secret with which the service named `service` introspects tokens and creates transactions, or with
    /// two while it changes; nil: there is no such service.
    public var serviceSecretFile: String?
    /// A directory with such a file for each further service, which has the file's name.
    public var serviceSecretDirectory: String?
    /// A directory with a file for each resource server that access tokens are issued for; nil: they are only for the account's
    /// API of this server.
    public var audienceDirectory: String?
    /// A program that gets a notice for a user on its standard input; nil: none.
    public var mailCommand: String?
    /// An address to which notices for users are sent; nil: none.
    public var mailWebhook: String?
    /// A file with the secret that signs them, or with two while it changes.
    public var mailWebhookSecretFile: String?
    /// How often the server looks for notices.
    var mailInterval = Duration.seconds(5)
    /// The minimum level of logged messages.
    public var logLevel = "info"
    /// The form of the log's lines.
    public var logFormat = LogFormat.text
    /// Whether each request is logged.
    public var accessLog = false

    /// Where each setting is from that is not a default.
    var places: [String: Setting.Place] = [:]

    /// Creates the defaults, with a data directory.
    public init(dataDirectory: String) { self.dataDirectory = dataDirectory }

    /// The path of the SQLite file, or the connection string of PostgreSQL.
    public var databaseAddress: String { database ?? "\(dataDirectory)/accounts.sqlite" }
    /// Seconds after which a session ends unless it is renewed.
    var idle: Int { sessionIdle ?? profile.idle }
    /// Seconds after which a session ends in any case.
    var lifetime: Int { sessionLifetime ?? profile.lifetime }
    /// The origin of ``publicURL``.
    var publicOrigin: String { PublicURL(publicURL)?.origin ?? publicURL }
    /// The effective RP ID.
    public var relyingPartyID: String { rpID ?? PublicURL(publicURL)?.host ?? "localhost" }
    /// The accepted origins.
    public var acceptedOrigins: [String] { origins ?? [publicOrigin] }
}

/// The lifetimes of sessions (NIST SP 800-63B-4, sections 2.2.3 and 2.3.3).
public enum SessionProfile: String, Sendable, CaseIterable {
    /// 90 days, 30 days idle.
    case consumer
    /// 24 hours, one hour idle.
    case aal2
    /// 12 hours, 15 minutes idle, and only hardware-bound keys.
    case aal3

    var idle: Int {
        switch self {
        case .consumer: 30 * 86_400
        case .aal2: 3600
        case .aal3: 900
        }
    }

    var lifetime: Int {
        switch self {
        case .consumer: 90 * 86_400
        case .aal2: 86_400
        case .aal3: 43_200
        }
    }
}

/// The attestation required for a credential of kind `device`.
public enum DeviceAttestation: String, Sendable, CaseIterable {
    /// Any valid attestation; what it proves is recorded.
    case any
    /// A chip with a trusted attestation.
    case hardware
    /// A TPM whose policy requires the user (``TPMKeyPolicy``), with a trusted attestation.
    case policy
}

/// Which endorsement keys the attestation CA trusts.
public enum EndorsementTrust: String, Sendable, CaseIterable {
    /// None: the CA issues nothing.
    case none
    /// Those whose certificate chains to a manufacturer's root.
    case roots
    /// Those in a list of hashes.
    case list
    /// Any: for tests with a software TPM. A certificate then proves that it is one chip, but not which.
    case any
}

/// What the attestation CA asks of a machine's boot state (``BootRegisters``).
public enum BootStateDemand: String, Sendable, CaseIterable {
    /// Nothing.
    case none
    /// A quote, if the client can make one; the audit log has its digest.
    case record
    /// A quote of a state in a list.
    case list
}
