import KeychainModel
import SSHFormat

/// Why a signature is refused before anybody is asked; for the log.
struct SigningRefusal: Error {
    let reason: String
}

/// A request to sign, as far as it is understood: what for, and what the box says of it.
struct Signing {
    /// Where a login goes to.
    struct Destination {
        /// The name of the host, or nil.
        let name: String?
        /// The host's key; nil if the client told none.
        let key: SSHPublicKey?
    }

    enum Purpose {
        /// To sign in as a user.
        case login(user: String, Destination)
        /// To sign a message for what its namespace says.
        case message(namespace: String)
    }

    let purpose: Purpose
    /// The names or fingerprints of the hosts through which the request was forwarded, the nearest first.
    let path: [String]

    /// Understands what is to be signed, on a connection with these bindings.
    ///
    /// - Throws: ``SigningRefusal`` for a login to another session than the bound one, for a revoked host, and for a message on a
    ///   connection for a login.
    init(
        _ data: SignedData,
        _ bindings: [SessionBinding],
        _ known: KnownNames
    ) throws(SigningRefusal) {
        path = bindings.filter(\.isForwarding).map { known.name(of: $0.hostKey) ?? $0.hostKey.fingerprint }
        for key in bindings.map(\.hostKey) where known.isRevoked(key) {
            throw SigningRefusal(reason: "a host key that is revoked, \(key.fingerprint)")
        }
        switch data {
        case .message(let namespace, _):
            guard bindings.allSatisfy(\.isForwarding) else {
                throw SigningRefusal(reason: "a message on a connection for a login")
            }
            purpose = .message(namespace: namespace)
        case .login(let login):
            if let bound = bindings.last {
                guard !bound.isForwarding else {
                    throw SigningRefusal(reason: "a forwarded login that names no host")
                }
                guard bound.sessionID == login.sessionID else {
                    throw SigningRefusal(reason: "a login in another session")
                }
                guard login.hostKey == nil || login.hostKey == bound.hostKey else {
                    throw SigningRefusal(reason: "a login to another host")
                }
            }
            // Without a binding nobody has verified the host that the request names.
            let key = bindings.last?.hostKey
            purpose = .login(user: login.user, Destination(name: key.flatMap(known.name), key: key))
        }
    }

    /// Whether a key with these hosts may be used.
    func isAllowed(for hosts: [NamedKey.Host]) -> Bool {
        guard !hosts.isEmpty else { return true }
        guard case .login(_, let destination) = purpose, let key = destination.key else { return false }
        return hosts.contains { $0.fingerprint == key.fingerprint }
    }

    /// The name of the destination: that of the key's own hosts first, which the user gave when making the key.
    private func name(of destination: Destination, _ hosts: [NamedKey.Host]) -> String? {
        guard let key = destination.key else { return nil }
        return hosts.first { $0.fingerprint == key.fingerprint }?.name ?? destination.name
    }

    /// The sentence of the box; `key` is nil before the key is looked up.
    func reason(for key: NamedKey?) -> String {
        let end = key.map { " with the key \(PromptDetails.quoted($0.name))" } ?? ""
        switch purpose {
        case .message(let namespace): return "Sign for \(PromptDetails.quoted(namespace))\(end)."
        case .login(let user, let destination):
            let host =
                switch (name(of: destination, key?.hosts ?? []), destination.key) {
                case (let name?, _): PromptDetails.quoted(name, atMost: 60)
                case (nil, .some): "an unknown host"
                case (nil, nil): "a host that was not named"
                }
            return "Sign in as \(PromptDetails.quoted(user)) at \(host)\(end)."
        }
    }

    /// The lines below it.
    func lines() -> [String] {
        var lines: [String] = []
        if case .login(_, let destination) = purpose, let key = destination.key {
            lines.append("Host key: \(key.fingerprint)")
        }
        if !path.isEmpty { lines.append("Forwarded through: \(path.joined(separator: ", "))") }
        return lines
    }

    /// What the log says of the use.
    func record(for key: NamedKey) -> String {
        switch purpose {
        case .message(let namespace):
            return "ssh message \(PromptDetails.quoted(namespace))" + (path.isEmpty ? "" : " forwarded")
        case .login(let user, let destination):
            let host = name(of: destination, key.hosts) ?? "-"
            return "ssh login \(PromptDetails.quoted(user))@\(host) \(destination.key?.fingerprint ?? "-")"
                + (path.isEmpty ? "" : " forwarded")
        }
    }
}
