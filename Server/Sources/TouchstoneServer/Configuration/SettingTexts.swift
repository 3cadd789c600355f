internal import RelyingParty

extension ServerConfiguration {
    /// Settings that take effect at the next start only: places, and what clients and credentials depend on.
    static let fixedKeys: Set<String> = [
        "listen", "admin-listen", "admin-tls", "public-url", "data-directory", "database", "rp-id",
        "request-timeout",
        "log-level", "log-format",
    ]

    /// The effective value of a setting, as it would be written in the file; a password in it is hidden.
    ///
    /// - Returns: nil: there is neither a value nor a default.
    func text(of key: String) -> String? {
        switch key {
        case "listen": listen.text
        case "admin-listen": adminListen.text
        case "admin-tls": Self.text(adminTLS)
        case "public-url": publicURL
        case "data-directory": dataDirectory
        case "database": databaseName
        case "tls-certificate": tlsCertificate
        case "tls-key": tlsKey
        case "trusted-proxies": trustedProxies.map(\.description).joined(separator: " ")
        case "client-address-header": clientAddressHeader.rawValue
        case "rp-id": relyingPartyID
        case "rp-name": rpName
        case "origins": acceptedOrigins.joined(separator: " ")
        case "top-origins": topOrigins.joined(separator: " ")
        case "passkey-hints": Self.text(passkeyHints)
        case "account-page": Self.text(accountPage)
        case "page-language": pageLanguage.rawValue
        case "page-colour": pageColour?.text
        case "self-registration": Self.text(selfRegistration)
        case "cors-origins": corsOrigins.sorted().joined(separator: " ")
        case "profile": profile.rawValue
        case "access-token-lifetime": "\(accessTokenLifetime)"
        case "session-idle": "\(idle)"
        case "session-lifetime": "\(lifetime)"
        case "freshness": "\(freshness)"
        case "ceremony-lifetime": "\(ceremonyLifetime)"
        case "device-key-lifetime": "\(deviceKeyLifetime)"
        case "audit-retention": "\(auditRetention)"
        case "audit-head-file": auditHeadFile
        case "audit-head-interval": "\(auditHeadInterval)"
        case "passwords-per-minute": "\(passwordsPerMinute)"
        case "ceremonies-per-minute": "\(ceremoniesPerMinute)"
        case "request-timeout": "\(requestTimeout)"
        case "shutdown-timeout": "\(shutdownTimeout)"
        case "password-workers": "\(passwordWorkers ?? Processors.count)"
        case "password-queue": "\(passwordQueue ?? 4 * (passwordWorkers ?? Processors.count))"
        case "password-minimum": "\(passwordMinimum)"
        case "password-cost": "\(passwordCost.ln),\(passwordCost.r),\(passwordCost.p)"
        case "device-attestation": deviceAttestation.rawValue
        case "require-assurance-login": requiredAssuranceLogin.words.joined(separator: " ")
        case "require-assurance-step-up": requiredAssuranceStepUp.words.joined(separator: " ")
        case "require-assurance-transaction": requiredAssuranceTransaction.words.joined(separator: " ")
        case "endorsement": endorsement.rawValue
        case "endorsement-roots": endorsementRoots
        case "endorsement-list": endorsementList
        case "endorsement-revoked": endorsementRevoked
        case "boot-state": bootState.rawValue
        case "boot-states": bootStates
        case "attestation-roots": attestationRoots
        case "service-secret-file": serviceSecretFile
        case "service-secret-directory": serviceSecretDirectory
        case "audience-directory": audienceDirectory
        case "mail-command": mailCommand
        case "mail-webhook": mailWebhook
        case "mail-webhook-secret-file": mailWebhookSecretFile
        case "log-level": logLevel
        case "log-format": logFormat.rawValue
        case "access-log": Self.text(accessLog)
        default: nil
        }
    }

    private static func text(_ flag: Bool) -> String { flag ? "on" : "off" }

    /// These settings, with the values of running ones where only a start changes them.
    ///
    /// - Throws: ``ConfigurationFault`` when the two do not go together.
    func keepingFixed(of running: ServerConfiguration) throws(ConfigurationFault) -> ServerConfiguration {
        var settings = self
        settings.listen = running.listen
        settings.adminListen = running.adminListen
        settings.adminTLS = running.adminTLS
        settings.publicURL = running.publicURL
        settings.dataDirectory = running.dataDirectory
        settings.database = running.database
        settings.rpID = running.rpID
        settings.requestTimeout = running.requestTimeout
        settings.logLevel = running.logLevel
        settings.logFormat = running.logFormat
        if (tlsCertificate == nil) != (running.tlsCertificate == nil) {
            settings.tlsCertificate = running.tlsCertificate
            settings.tlsKey = running.tlsKey
        }
        try settings.checkTogether()
        return settings
    }

    /// ``databaseAddress`` without a password, for messages.
    var databaseName: String {
        let address = databaseAddress
        guard let scheme = address.firstRange(of: "://") else { return address }
        var parts = address[scheme.upperBound...].split(
            separator: "?",
            maxSplits: 1,
            omittingEmptySubsequences: false
        ).map(String.init)
        if let at = parts[0].lastIndex(of: "@"), let colon = parts[0][..<at].firstIndex(of: ":") {
            parts[0].replaceSubrange(colon..<at, with: ":set")
        }
        if parts.count == 2 {
            parts[1] = parts[1].split(separator: "&", omittingEmptySubsequences: false).map { option in
                let isSecret = ["password=", "sslpassword="].contains { option.lowercased().hasPrefix($0) }
                return isSecret ? "\(option.prefix { $0 != "=" })=set" : String(option)
            }.joined(separator: "&")
        }
        return address[..<scheme.upperBound] + parts.joined(separator: "?")
    }
}

extension ListenAddress {
    /// The form that the setting has: `host:port`, an IPv6 address in brackets (RFC 3986, section 3.2.2).
    public var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
