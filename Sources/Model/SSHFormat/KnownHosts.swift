internal import Crypto

/// The keys of hosts that a user knows (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT").
///
/// Names are compared without regard to the case of ASCII letters. A host at another port than 22 has a name such as
/// `[host.example]:2222`. Patterns name no host, so they are ignored, as are authorities (`@cert-authority`). A key that any line
/// revokes (`@revoked`) is unknown, whatever hosts the line is for.
package struct KnownHosts: Sendable {
    /// The most bytes of a file.
    package static let longest = 1 << 20
    /// The file that an administrator fills, of ssh(1).
    package static let systemFile = "/etc/ssh/ssh_known_hosts"

    /// The file of the user with this home directory, of ssh(1).
    package static func userFile(home: String) -> String { home + "/.ssh/known_hosts" }

    /// A line: a host's names, and its key.
    private struct Entry: Sendable {
        let names: [KnownHostName]
        let key: SSHPublicKey
    }

    private let entries: [Entry]
    private let revoked: Set<SSHPublicKey>

    /// Reads the text of a file; lines that cannot be read, or have a key of an unsupported algorithm, are ignored.
    package init(_ text: String) {
        var entries: [Entry] = []
        var revoked: Set<SSHPublicKey> = []
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            var fields = Array(line).split(maxSplits: 4) { [0x20, 0x09, 0x0D].contains($0) }[...]
            let marker = fields.first?.first == UInt8(ascii: "@") ? fields.popFirst() : nil
            guard fields.count >= 3, fields[fields.startIndex].first != UInt8(ascii: "#"),
                let key = SSHPublicKey(
                    algorithm: fields[fields.startIndex + 1],
                    base64: fields[fields.startIndex + 2]
                )
            else { continue }
            switch marker.map({ String(decoding: $0, as: UTF8.self) }) {
            case nil:
                let names = fields[fields.startIndex].split(separator: UInt8(ascii: ","))
                entries.append(Entry(names: names.compactMap(KnownHostName.init), key: key))
            case "@revoked": revoked.insert(key)
            default: break
            }
        }
        self.entries = entries.filter { !revoked.contains($0.key) }
        self.revoked = revoked
    }

    /// The names under which a key is known, each once, in the file's order.
    ///
    /// Of hashed names, those among the candidates are found, in the order and case of the candidates. None for a revoked key.
    package func names(of key: SSHPublicKey, candidates: [String]) -> [String] {
        var names: [String] = []
        for name in entries.lazy.filter({ $0.key == key }).flatMap(\.names) {
            let found =
                switch name {
                case .plain(let text): [text]
                case .hashed: candidates.filter(name.matches)
                }
            for text in found where !names.contains(text) { names.append(text) }
        }
        return names
    }

    /// The keys of a host, each once, in the file's order.
    package func keys(of name: String) -> [SSHPublicKey] {
        var keys: [SSHPublicKey] = []
        for entry in entries where !keys.contains(entry.key) {
            if entry.names.contains(where: { $0.matches(name) }) { keys.append(entry.key) }
        }
        return keys
    }

    /// Whether a line revokes the key.
    package func isRevoked(_ key: SSHPublicKey) -> Bool { revoked.contains(key) }
}

/// A host's name in `known_hosts`.
private enum KnownHostName: Sendable {
    case plain(String)
    /// HMAC-SHA-1 over the name in lower case; the salt is the key.
    case hashed(salt: [UInt8], hash: [UInt8])

    /// Reads a name; nil for a pattern, and a malformed hash.
    init?(_ field: ArraySlice<UInt8>) {
        if field.first == UInt8(ascii: "|") {
            let parts = field.split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false)
            guard parts.count == 4, parts[1].elementsEqual("1".utf8), let salt = bytes(base64: parts[2]),
                let hash = bytes(base64: parts[3])
            else { return nil }
            self = .hashed(salt: salt, hash: hash)
        } else {
            guard let text = String(validating: field, as: UTF8.self), !text.contains(where: "*?!".contains)
            else { return nil }
            self = .plain(text)
        }
    }

    func matches(_ name: String) -> Bool {
        switch self {
        case .plain(let text): return text.inLowerCase == name.inLowerCase
        case .hashed(let salt, let hash):
            return HMAC<Insecure.SHA1>.isValidAuthenticationCode(
                hash,
                authenticating: name.inLowerCase,
                using: SymmetricKey(data: salt)
            )
        }
    }
}

extension String {
    /// The bytes, with ASCII letters in lower case.
    fileprivate var inLowerCase: [UInt8] { utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } }
}
