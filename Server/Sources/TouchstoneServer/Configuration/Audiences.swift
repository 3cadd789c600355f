internal import AccountStore
internal import Foundation

/// The resource servers for which access tokens are issued (RFC 8707): one file each in the directory of the setting
/// `audience-directory`.
struct Audiences: Sendable, Equatable {
    /// A resource server.
    struct Audience: Sendable, Equatable {
        /// The name of its file, for messages.
        let name: String
        /// Its resource indicator, an absolute URI; clients name it, and tokens contain it as `aud`.
        let resource: String
        /// The scopes that tokens for it can have, in the order of the file.
        let scopes: [String]
        /// The services that may introspect tokens for it.
        let services: Set<String>
        /// The lifetime of its access tokens, in seconds; nil: that of the setting `access-token-lifetime`.
        let lifetime: Int?
        /// The form of its access tokens.
        let format: Format
        /// How its access tokens are presented.
        let type: TokenType

        /// Whether its access tokens are bound to the session's key.
        var isBound: Bool { type == .dpop }
    }

    /// The form of access tokens.
    enum Format: String, Sendable, CaseIterable {
        /// Without meaning for others: services introspect them (RFC 7662).
        case opaque
        /// Signed claims, which services verify themselves (RFC 9068); they can also be introspected.
        case jwt
    }

    /// How access tokens are presented (`token_type`).
    enum TokenType: String, Sendable, CaseIterable {
        /// RFC 6750.
        case bearer = "Bearer"
        /// With a proof of the session's key in each request (RFC 9449, section 7.1).
        case dpop = "DPoP"
    }

    private let byResource: [String: Audience]

    /// Reads the files; without the setting there is no audience.
    ///
    /// - Throws: ``ConfigurationFault`` for a file that cannot be read, a wrong line, and a resource that two files have.
    init(_ settings: ServerConfiguration) throws(ConfigurationFault) {
        var byResource: [String: Audience] = [:]
        if let directory = settings.audienceDirectory {
            for (name, path) in try NamedFiles.all(in: directory, each: "audience") {
                let audience = try Audience(name: name, path: path)
                if let other = byResource.updateValue(audience, forKey: audience.resource) {
                    throw ConfigurationFault(
                        place: path,
                        reason: "has the resource of \(other.name): one audience has one file"
                    )
                }
            }
        }
        self.byResource = byResource
    }

    /// What a client may get that asks for a resource and scopes.
    ///
    /// - Parameters:
    ///   - resource: the resource indicator; nil: the account's API of this server.
    ///   - scope: the scopes, separated by blanks; nil: all of the audience's.
    /// - Returns: the grant; nil: the account's API.
    /// - Throws: ``Problem`` with `invalid_target` (RFC 8707, section 2) or `invalid_scope` (RFC 6749, section 5.2).
    func grant(resource: String?, scope: String?) throws(Problem) -> AudienceGrant? {
        guard let resource else {
            guard scope == nil else {
                throw Problem(.invalidScope, "a scope needs a resource: the account's API has no scopes")
            }
            return nil
        }
        guard let audience = byResource[resource] else {
            throw Problem(.invalidTarget, "the server issues no tokens for this resource")
        }
        guard let scope else { return AudienceGrant(audience: resource, scope: audience.scopes) }
        var granted: [String] = []
        for word in scope.split(separator: " ").map(String.init) where !granted.contains(word) {
            guard audience.scopes.contains(word) else {
                throw Problem(.invalidScope, "a scope is not one of the resource's")
            }
            granted.append(word)
        }
        guard !granted.isEmpty else { throw Problem(.invalidScope, "the scope is empty") }
        return AudienceGrant(audience: resource, scope: granted)
    }

    /// The audience of a grant; nil: it was removed from the settings.
    func audience(of grant: AudienceGrant) -> Audience? { byResource[grant.audience] }

    /// All scopes, in alphabetical order.
    var scopes: [String] { Set(byResource.values.flatMap(\.scopes)).sorted() }

    /// The audiences, such as `shop: https://shop.example.org`; for messages.
    var summary: [String] { byResource.values.map { "\($0.name): \($0.resource)" }.sorted() }

    /// What is different from former audiences, such as `shop is new`; for the log.
    func changes(from former: Audiences) -> [String] {
        func byName(_ audiences: Audiences) -> [String: Audience] {
            Dictionary(uniqueKeysWithValues: audiences.byResource.values.map { ($0.name, $0) })
        }
        let (old, new) = (byName(former), byName(self))
        return Set(old.keys).union(new.keys).sorted().compactMap { name in
            switch (old[name], new[name]) {
            case (nil, _?): "\(name) is new"
            case (_?, nil): "\(name) is gone; its tokens are inactive"
            case (let before, let now): before == now ? nil : "\(name) has other settings"
            }
        }
    }
}

extension Audiences.Audience {
    /// Reads a file with lines of `key = value`.
    fileprivate init(name: String, path: String) throws(ConfigurationFault) {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw ConfigurationFault(place: path, reason: "cannot be read")
        }
        var resource: String?
        var scopes: [String] = []
        var services: Set<String> = [name]
        var lifetime: Int?
        var format = Audiences.Format.opaque
        var type = Audiences.TokenType.bearer
        for setting in try Setting.all(in: text, of: path) {
            switch setting.key {
            case "resource": resource = try setting.resourceIndicator()
            case "scopes": scopes = try setting.scopes()
            case "services": services = Set(setting.list)
            case "access-token-lifetime": lifetime = try setting.accessTokenLifetime()
            case "format": format = try setting.choice()
            case "token-type": type = try setting.choice()
            default:
                throw setting.fault(
                    """
                    is no setting of an audience: resource, scopes, services, access-token-lifetime, format, \
                    token-type are
                    """
                )
            }
        }
        guard let resource else {
            throw ConfigurationFault(
                place: path,
                reason: "has no resource, such as resource = https://api.example.org"
            )
        }
        self.init(
            name: name,
            resource: resource,
            scopes: scopes,
            services: services,
            lifetime: lifetime,
            format: format,
            type: type
        )
    }
}

extension Setting {
    /// The value as a resource indicator: an absolute URI without a fragment (RFC 8707, section 2), at most 256 bytes.
    fileprivate func resourceIndicator() throws(ConfigurationFault) -> String {
        let scheme = value.prefix { $0 != ":" }
        let rest = value.dropFirst(scheme.count + 1)
        guard value.utf8.count <= 256, let first = scheme.first, first.isASCII, first.isLetter,
            scheme.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }),
            !rest.isEmpty, value.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") })
        else { throw fault("must be an absolute URI, such as https://api.example.org") }
        return value
    }

    /// The value as scopes (RFC 6749, section 3.3).
    fileprivate func scopes() throws(ConfigurationFault) -> [String] {
        let words = list
        for word in words {
            let isScope = word.utf8.allSatisfy {
                0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
            }
            guard isScope, word.utf8.count <= 64 else {
                throw fault("has \(word), which is no scope: visible ASCII without \" and \\, at most 64")
            }
        }
        guard Set(words).count == words.count else { throw fault("has a scope twice") }
        guard words.joined(separator: " ").utf8.count <= 1024 else { throw fault("has over 1024 characters") }
        return words
    }
}
