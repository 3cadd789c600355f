import Glibc
import KeychainModel
import SSHFormat

/// The names of hosts by their keys, from the files of known hosts.
package struct HostNames: Sendable {
    /// The file that an administrator fills.
    package static let systemFile = "/etc/ssh/ssh_known_hosts"

    private let paths: [String]

    /// Reads these files, whenever a name is asked for.
    package init(paths: [String]) { self.paths = paths }

    /// What is known of a host key: its first name, or nil; and whether it is revoked.
    ///
    /// A hashed name is found only if one of the client's arguments names it.
    func look(_ key: SSHPublicKey, arguments: [String]) -> (name: String?, isRevoked: Bool) {
        let files = paths.compactMap(Self.read)
        let candidates = arguments.flatMap(Self.hosts)
        return (
            files.lazy.compactMap { $0.names(of: key, candidates: candidates).first }.first,
            files.contains { $0.isRevoked(key) }
        )
    }

    private static func read(_ path: String) -> KnownHosts? {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let bytes = try? SmallFile.bytes(path, atMost: KnownHosts.longest)
        else { return nil }
        return KnownHosts(String(decoding: bytes, as: UTF8.self))
    }

    /// The host names that an argument may mean: `host`, `user@host`, `ssh://user@host:port`, `host:path`.
    private static func hosts(in argument: String) -> [String] {
        guard !argument.hasPrefix("-"), argument.utf8.count <= 1024 else { return [] }
        var rest = Substring(argument)
        if rest.hasPrefix("ssh://") { rest = rest.dropFirst(6) }
        if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
        let name = rest.prefix { $0 != "/" }
        guard let colon = name.lastIndex(of: ":") else { return [String(name)] }
        let (host, port) = (name[..<colon], name[name.index(after: colon)...])
        return [String(name), String(host), "[\(host)]:\(port)"]
    }
}
