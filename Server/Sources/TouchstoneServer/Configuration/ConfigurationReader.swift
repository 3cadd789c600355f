internal import Foundation
internal import Logging
internal import RelyingParty

extension ServerConfiguration {
    /// The default configuration file; it need not exist.
    public static let standardFile = "/etc/touchstone/touchstone-server.conf"

    /// The names of all settings.
    static let keys = [
        "listen", "admin-listen", "public-url", "data-directory", "database", "tls-certificate", "tls-key",
        "admin-tls",
        "trusted-proxies", "client-address-header", "rp-id", "rp-name", "origins", "top-origins",
        "passkey-hints", "account-page", "page-language", "page-colour", "self-registration", "cors-origins",
        "profile",
        "access-token-lifetime", "session-idle", "session-lifetime", "freshness", "ceremony-lifetime",
        "device-key-lifetime", "audit-retention", "audit-head-file", "audit-head-interval",
        "passwords-per-minute", "ceremonies-per-minute", "request-timeout",
        "shutdown-timeout",
        "password-workers", "password-queue", "password-minimum", "password-cost", "device-attestation",
        "require-assurance-login", "require-assurance-step-up", "require-assurance-transaction",
        "endorsement", "endorsement-roots", "endorsement-list", "endorsement-revoked", "boot-state",
        "boot-states", "attestation-roots", "service-secret-file", "service-secret-directory",
        "audience-directory", "mail-command", "mail-webhook",
        "mail-webhook-secret-file", "log-level", "log-format",
        "access-log",
    ]

    /// Reads the configuration file and the environment, which takes precedence.
    ///
    /// - Parameters:
    ///   - file: a path; nil: `TOUCHSTONE_SERVER_CONFIG`, or ``standardFile`` if it exists.
    ///   - environment: the process's environment.
    /// - Returns: the effective settings.
    /// - Throws: ``ConfigurationFault`` with the first mistake.
    public static func read(
        file: String?,
        environment: [String: String]
    ) throws(ConfigurationFault) -> ServerConfiguration {
        var settings: [Setting] = []
        let named = file ?? environment[Setting.fileVariable]
        if let path = named ?? (FileManager.default.fileExists(atPath: standardFile) ? standardFile : nil) {
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
                throw ConfigurationFault(place: path, reason: "cannot be read")
            }
            settings += try Setting.all(in: text, of: path)
        }
        settings += Setting.all(in: environment)
        var configuration = ServerConfiguration(dataDirectory: standardDataDirectory(environment))
        for setting in settings {
            try configuration.apply(setting)
            configuration.places[setting.key] = setting.place
        }
        try configuration.checkTogether()
        return configuration
    }

    /// systemd's state directory, or the user's data directory.
    private static func standardDataDirectory(_ environment: [String: String]) -> String {
        if let path = environment["STATE_DIRECTORY"], path.hasPrefix("/") {
            return String(path.prefix { $0 != ":" })
        }
        if let path = environment["XDG_DATA_HOME"], path.hasPrefix("/") { return "\(path)/touchstone-server" }
        return "\(environment["HOME"] ?? "/var/lib")/.local/share/touchstone-server"
    }

    private mutating func apply(_ setting: Setting) throws(ConfigurationFault) {
        let year = 366 * 86_400
        switch setting.key {
        case "listen": listen = try setting.address()
        case "admin-listen": adminListen = try setting.address()
        case "public-url":
            guard PublicURL(setting.value) != nil, !setting.value.hasSuffix("/") else {
                throw setting.fault("must be http(s)://host[:port], without a slash at its end")
            }
            publicURL = setting.value
        case "data-directory": dataDirectory = try setting.path()
        case "database":
            guard setting.value.hasPrefix("/") || setting.value.hasPrefix("postgresql://") else {
                throw setting.fault("must be an absolute path or postgresql://…")
            }
            database = setting.value
        case "tls-certificate": tlsCertificate = try setting.path()
        case "tls-key": tlsKey = try setting.path()
        case "admin-tls": adminTLS = try setting.flag()
        case "trusted-proxies":
            trustedProxies = try setting.list.map { text throws(ConfigurationFault) in
                guard let network = IPNetwork(text) else {
                    throw setting.fault("has \(text), which is no address or network such as 10.0.0.0/8")
                }
                return network
            }
        case "client-address-header": clientAddressHeader = try setting.choice()
        case "rp-id":
            guard !setting.value.isEmpty, !setting.value.contains(where: { ":/ ".contains($0) }) else {
                throw setting.fault("must be a domain name")
            }
            rpID = setting.value
        case "rp-name": rpName = setting.value
        case "origins": origins = try setting.origins()
        case "top-origins": topOrigins = try setting.origins()
        case "passkey-hints": passkeyHints = try setting.flag()
        case "account-page": accountPage = try setting.flag()
        case "page-language": pageLanguage = try setting.choice()
        case "page-colour":
            guard let colour = PageColour(setting.value) else {
                throw setting.fault("must be a colour of the form #rrggbb, such as #0b57d0")
            }
            pageColour = colour
        case "self-registration": selfRegistration = try setting.flag()
        case "cors-origins":
            for origin in setting.list where PublicURL(origin)?.origin != origin {
                throw setting.fault("must be origins as browsers write them, such as https://app.example.org")
            }
            corsOrigins = Set(setting.list)
        case "profile": profile = try setting.choice()
        case "access-token-lifetime": accessTokenLifetime = try setting.accessTokenLifetime()
        case "session-idle": sessionIdle = try setting.number(in: 60...year)
        case "session-lifetime": sessionLifetime = try setting.number(in: 60...year)
        case "freshness": freshness = try setting.number(in: 1...3600)
        case "ceremony-lifetime": ceremonyLifetime = try setting.number(in: 10...600)
        case "device-key-lifetime": deviceKeyLifetime = try setting.number(in: 0...3660)
        case "audit-retention": auditRetention = try setting.number(in: 0...87_600)
        case "audit-head-file": auditHeadFile = try setting.path()
        case "audit-head-interval": auditHeadInterval = try setting.number(in: 1...86_400)
        case "passwords-per-minute": passwordsPerMinute = try setting.number(in: 1...1_000_000)
        case "ceremonies-per-minute": ceremoniesPerMinute = try setting.number(in: 1...1_000_000)
        case "request-timeout": requestTimeout = try setting.number(in: 1...3600)
        case "shutdown-timeout": shutdownTimeout = try setting.number(in: 1...3600)
        case "password-workers": passwordWorkers = try setting.number(in: 1...1024)
        case "password-queue": passwordQueue = try setting.number(in: 0...65_536)
        case "password-minimum": passwordMinimum = try setting.number(in: 8...64)
        case "password-cost": passwordCost = try Self.cost(setting)
        case "device-attestation": deviceAttestation = try setting.choice()
        case "require-assurance-login": requiredAssuranceLogin = try setting.assurance()
        case "require-assurance-step-up": requiredAssuranceStepUp = try setting.assurance()
        case "require-assurance-transaction": requiredAssuranceTransaction = try setting.assurance()
        case "endorsement": endorsement = try setting.choice()
        case "endorsement-roots": endorsementRoots = try setting.path()
        case "endorsement-list": endorsementList = try setting.path()
        case "endorsement-revoked": endorsementRevoked = try setting.path()
        case "boot-state": bootState = try setting.choice()
        case "boot-states": bootStates = try setting.path()
        case "attestation-roots": attestationRoots = try setting.path()
        case "service-secret-file": serviceSecretFile = try setting.path()
        case "service-secret-directory": serviceSecretDirectory = try setting.path()
        case "audience-directory": audienceDirectory = try setting.path()
        case "mail-command": mailCommand = try setting.path()
        case "mail-webhook":
            guard let url = PublicURL(setting.value), url.scheme == "https" || url.isLoopback else {
                throw setting.fault("must be https://host[:port][/path], or http:// on this machine")
            }
            mailWebhook = setting.value
        case "mail-webhook-secret-file": mailWebhookSecretFile = try setting.path()
        case "log-level":
            guard Logger.Level(rawValue: setting.value) != nil else {
                throw setting.fault("must be one of trace, debug, info, notice, warning, error, critical")
            }
            logLevel = setting.value
        case "log-format": logFormat = try setting.choice()
        case "access-log": accessLog = try setting.flag()
        default: throw setting.fault("is no setting; touchstone-server help lists them")
        }
    }

    private static func cost(_ setting: Setting) throws(ConfigurationFault) -> PasswordHash.Cost {
        let numbers = setting.list.map { Int($0) }
        guard numbers.count == 3, let ln = numbers[0], let r = numbers[1], let p = numbers[2],
            (10...20).contains(ln), (1...32).contains(r), (1...16).contains(p), 128 * r << ln <= 256 << 20
        else { throw setting.fault("must be ln,r,p of scrypt, such as 15,8,3, within 256 MiB") }
        return PasswordHash.Cost(ln: ln, r: r, p: p)
    }

    /// Checks that depend on more than one setting.
    func checkTogether() throws(ConfigurationFault) {
        func fault(_ reason: String) -> ConfigurationFault {
            ConfigurationFault(place: "configuration", reason: reason)
        }
        guard let url = PublicURL(publicURL) else { throw fault("public-url is no address") }
        guard (tlsCertificate == nil) == (tlsKey == nil) else {
            throw fault("tls-certificate and tls-key go together")
        }
        guard mailCommand == nil || mailWebhook == nil else {
            throw fault("mail-command and mail-webhook: only one of them can be set")
        }
        guard mailWebhook == nil || mailWebhookSecretFile != nil else {
            throw fault("mail-webhook needs mail-webhook-secret-file")
        }
        guard mailWebhookSecretFile == nil || mailWebhook != nil else {
            throw fault("mail-webhook-secret-file needs mail-webhook")
        }
        guard !adminTLS || tlsCertificate != nil else { throw fault("admin-tls needs tls-certificate") }
        guard adminTLS || !adminListen.isEverywhere else {
            throw fault(
                "admin-listen \(adminListen.host) is every address of the machine, where tokens would be read: "
                    + "name one, such as 127.0.0.1, or set admin-tls = on"
            )
        }
        guard url.scheme == "https" || url.isLoopback else {
            throw fault(
                "public-url must be https: browsers have no passkeys without, and tokens would be read"
            )
        }
        let id = relyingPartyID
        guard IPAddress(id) == nil else {
            throw fault("rp-id \(id) is an address, for which browsers have no passkeys: use a domain name")
        }
        guard id == id.lowercased() else {
            throw fault("rp-id \(id) must be in lower case, as browsers compare it")
        }
        guard url.host == id || url.host.hasSuffix(".\(id)") else {
            throw fault("rp-id \(id) is neither the host of public-url nor a domain above it")
        }
        guard !acceptedOrigins.isEmpty else { throw fault("origins is empty: nobody could sign in") }
        guard !accessLog || Logger.Level(rawValue: logLevel).map({ $0 <= .info }) ?? true else {
            throw fault("access-log = on needs log-level = info, debug or trace, not \(logLevel)")
        }
        guard idle <= lifetime else { throw fault("session-idle is longer than session-lifetime") }
        let demands = [requiredAssuranceLogin, requiredAssuranceStepUp, requiredAssuranceTransaction]
        guard
            endorsement != .none || attestationRoots != nil
                || !demands.contains(where: { $0.level == .high || !$0.facts.isEmpty })
        else {
            throw fault(
                "require-assurance-… demands attested keys, which nobody has: set endorsement or attestation-roots"
            )
        }
        guard endorsement != .roots || endorsementRoots != nil else {
            throw fault("endorsement = roots needs endorsement-roots")
        }
        guard endorsement != .list || endorsementList != nil else {
            throw fault("endorsement = list needs endorsement-list")
        }
        guard endorsementRevoked == nil || endorsement == .roots else {
            throw fault("endorsement-revoked needs endorsement = roots: only then are certificates verified")
        }
        guard bootState != .list || bootStates != nil else {
            throw fault("boot-state = list needs boot-states")
        }
    }
}
