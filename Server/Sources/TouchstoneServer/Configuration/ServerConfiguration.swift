internal import Logging
public import RelyingParty

/// All settings of the server, each with a default that is safe on localhost.
public struct ServerConfiguration: Sendable {
    // MARK: Places

    /// Where the API listens.
    public var listen = ListenAddress(host: "127.0.0.1", port: 8080)
    /// Where administrators, metrics and health probes connect.
    public var adminListen = ListenAddress(host: "127.0.0.1", port: 8081)
    /// The API's address as clients see it: `htu` of DPoP proofs, links and the issuer are made of it, never of `Host`.
    public var publicURL = "http://localhost:8080"
    /// Holds the keys that the server makes for itself, and the SQLite file.
    public var dataDirectory: String
    /// A path, or `postgresql://…`; nil: `accounts.sqlite` in ``dataDirectory``.
    public var database: String?
    /// PEM: the certificate chain.
    ///
    /// Without them the server speaks plain HTTP, for a proxy in front.
    public var tlsCertificate: String?
    /// PEM: the private key of ``tlsCertificate``.
    public var tlsKey: String?
    /// Addresses of proxies whose `X-Forwarded-For` is believed.
    public var trustedProxies: Set<String> = []

    // MARK: Relying party

    /// The RP ID, a domain name; nil: the host of ``publicURL``.
    public var rpID: String?
    /// The relying party's name, for people.
    public var rpName = "Touchstone"
    /// Origins that are accepted, compared byte for byte; nil: the origin of ``publicURL``.
    public var origins: [String]?
    /// Pages in whose frames a ceremony may run.
    public var topOrigins: [String] = []

    // MARK: Pages

    /// Whether the page for an account is served, at ``publicURL``.
    public var accountPage = true
    /// Other origins whose pages may call the API from a browser, with the session's cookies too.
    public var corsOrigins: Set<String> = []

    // MARK: Lifetimes

    /// How long sessions last.
    public var profile = SessionProfile.consumer
    /// Seconds that an access token is good for.
    public var accessTokenLifetime = 300
    /// Seconds after which a session has to be renewed; nil: the profile's.
    public var sessionIdle: Int?
    /// Seconds after which a session ends in any case; nil: the profile's.
    public var sessionLifetime: Int?
    /// Seconds for which an authentication is fresh.
    public var freshness = 300
    /// Seconds that a ceremony may take.
    public var ceremonyLifetime = 300
    /// Hours for which audit records are kept; 0: for ever.
    public var auditRetention = 720

    // MARK: Limits

    /// Passwords that may fail from one address in a minute.
    public var passwordsPerMinute = 20
    /// Ceremonies begun from one address in a minute.
    public var ceremoniesPerMinute = 60
    /// What a password's derivation costs.
    public var passwordCost = PasswordHash.Cost.standard
    /// How many derivations run at a time; nil: as many as there are processors.
    public var passwordWorkers: Int?
    /// How many derivations wait; nil: four times ``passwordWorkers``.
    public var passwordQueue: Int?
    /// Characters that a password has at least.
    public var passwordMinimum = 8

    /// Seconds in which a request has to be there, head and body; as long a connection may be idle.
    public var requestTimeout = 60

    // MARK: Attestation

    /// What a credential of kind `device` has to show.
    public var deviceAttestation = DeviceAttestation.any
    /// Whose chips the attestation CA certifies.
    public var endorsement = EndorsementTrust.none
    /// A directory of PEM files: the makers' roots for endorsement keys.
    public var endorsementRoots: String?
    /// A file with one SHA-256 of an endorsement key in hexadecimal a line.
    public var endorsementList: String?
    /// A directory of PEM files: who is trusted to vouch for passkeys and devices, beside the server's own CA.
    public var attestationRoots: String?

    // MARK: Others

    /// A file with the secret that other services show to introspect tokens and to make transactions; nil: nobody may.
    public var serviceSecretFile: String?
    /// What is logged.
    public var logLevel = "info"

    /// The defaults, with a data directory.
    public init(dataDirectory: String) { self.dataDirectory = dataDirectory }

    /// The path of the SQLite file, or PostgreSQL's address.
    public var databaseAddress: String { database ?? "\(dataDirectory)/accounts.sqlite" }
    /// Seconds after which a session that is not renewed ends.
    var idle: Int { sessionIdle ?? profile.idle }
    /// Seconds after which a session ends.
    var lifetime: Int { sessionLifetime ?? profile.lifetime }
    /// The origin of ``publicURL``.
    var publicOrigin: String { PublicURL(publicURL)?.origin ?? publicURL }
    /// The RP ID in force.
    public var relyingPartyID: String { rpID ?? PublicURL(publicURL)?.host ?? "localhost" }
    /// The origins in force.
    public var acceptedOrigins: [String] { origins ?? [publicOrigin] }
}

/// How long sessions last (NIST SP 800-63B-4, sections 2.2.3 and 2.3.3).
public enum SessionProfile: String, Sendable, CaseIterable {
    /// 90 days, 30 days idle.
    case consumer
    /// 24 hours, one hour idle.
    case aal2
    /// 12 hours, 15 minutes idle, and keys that are bound to hardware only.
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

/// What a credential of kind `device` has to show.
public enum DeviceAttestation: String, Sendable, CaseIterable {
    /// Any attestation that is valid; what it proves is recorded.
    case any
    /// A chip that somebody who is trusted vouches for.
    case hardware
    /// A TPM whose policy wants the user (``TPMKeyPolicy``), vouched for by somebody who is trusted.
    case policy
}

/// Whose endorsement keys the attestation CA believes.
public enum EndorsementTrust: String, Sendable, CaseIterable {
    /// Nobody's: the CA issues nothing.
    case none
    /// Those with a certificate that leads to a maker's root.
    case roots
    /// Those on a list of hashes.
    case list
    /// Any: for tests with a TPM in software. What it certifies proves one chip, but not which.
    case any
}
