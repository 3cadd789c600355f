internal import Crypto
internal import Foundation

/// The services that may introspect tokens and create transactions, each with its secrets.
///
/// A service may have two secrets at a time: the next one is added here, then the service changes over, then the former one
/// is removed, and no request in between is refused.
struct ServiceSecrets: Sendable, Equatable {
    /// The name of the service whose secrets are in `service-secret-file`.
    static let standardName = "service"
    /// The maximum number of secrets of one service.
    private static let most = 2

    private let digests: [String: [SHA256.Digest]]

    /// Reads the files of the settings; without them there is no service.
    ///
    /// - Throws: ``ConfigurationFault`` when a file cannot be read, a secret is guessable, or two services have the same.
    init(_ settings: ServerConfiguration) throws(ConfigurationFault) {
        var digests: [String: [SHA256.Digest]] = [:]
        if let path = settings.serviceSecretFile { digests[Self.standardName] = try Self.read(path) }
        if let directory = settings.serviceSecretDirectory {
            for (name, path) in try NamedFiles.all(in: directory, each: "service") {
                guard digests[name] == nil else {
                    throw ConfigurationFault(
                        place: path,
                        reason: "has the name of the service of service-secret-file: give it another"
                    )
                }
                digests[name] = try Self.read(path)
            }
        }
        var owners: [SHA256.Digest: String] = [:]
        for (name, own) in digests.sorted(by: { $0.key < $1.key }) {
            for digest in own {
                if let other = owners.updateValue(name, forKey: digest), other != name {
                    throw ConfigurationFault(
                        place: settings.serviceSecretDirectory ?? "",
                        reason: "the services \(other) and \(name) have the same secret"
                    )
                }
            }
        }
        self.digests = digests
    }

    /// The secrets of a file: one or two lines.
    private static func read(_ path: String) throws(ConfigurationFault) -> [SHA256.Digest] {
        guard let text = try SecretFile.existing(path) else {
            throw ConfigurationFault(place: path, reason: "is not there")
        }
        return try texts(text, of: path).map { SHA256.hash(data: Array($0.utf8)) }
    }

    /// The secrets of a file's text: one, or two while it changes.
    ///
    /// - Throws: ``ConfigurationFault`` for another number, or a secret that is guessable.
    static func texts(_ text: String, of path: String) throws(ConfigurationFault) -> [String] {
        let secrets = text.split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        guard (1...most).contains(secrets.count) else {
            throw ConfigurationFault(
                place: path,
                reason: "must have one secret, or two while it changes, each in a line of its own"
            )
        }
        guard secrets.allSatisfy({ $0.utf8.count >= 32 }) else {
            throw ConfigurationFault(
                place: path,
                reason: "must have at least 32 characters in each secret, all random"
            )
        }
        return secrets
    }

    /// The service that has a secret; nil: none.
    func service(presenting secret: String) -> String? {
        let digest = SHA256.hash(data: Array(secret.utf8))
        // Digests compare in constant time.
        return digests.first { $0.value.contains(digest) }?.key
    }

    /// Whether a service has a secret.
    func has(_ name: String, _ secret: String) -> Bool {
        digests[name]?.contains(SHA256.hash(data: Array(secret.utf8))) == true
    }

    /// The names of the services with their numbers of secrets, such as `billing (2)`; for messages.
    var summary: [String] {
        digests.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value.count))" }
    }

    /// What is different from former secrets, such as `billing has other secrets`; for the log.
    func changes(from former: ServiceSecrets) -> [String] {
        Set(digests.keys).union(former.digests.keys).sorted().compactMap { name in
            switch (former.digests[name], digests[name]) {
            case (nil, let new?): "\(name) is new, with \(new.count) secrets"
            case (_?, nil): "\(name) is gone"
            case (let old?, let new?) where old != new:
                "\(name) has other secrets: \(new.count), before \(old.count)"
            default: nil
            }
        }
    }
}
