import Glibc
import KeychainModel
import SSHFormat

/// The files of known hosts.
package struct HostNames: Sendable {
    private let paths: [String]

    /// Reads these files, whenever names are asked for.
    package init(paths: [String]) { self.paths = paths }

    /// Reads ssh's files for the user with this home directory; nil for the system's alone.
    package init(home: String?) {
        self.init(paths: (home.map { [KnownHosts.userFile(home: $0)] } ?? []) + [KnownHosts.systemFile])
    }

    /// Reads the files as they are now, for a client with these arguments.
    func read(arguments: [String]) -> KnownNames {
        KnownNames(paths.compactMap(Self.read), arguments: arguments)
    }

    private static func read(_ path: String) -> KnownHosts? {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let bytes = try? SmallFile.bytes(path, atMost: KnownHosts.longest)
        else { return nil }
        return KnownHosts(String(decoding: bytes, as: UTF8.self))
    }
}

/// What is known of hosts by their keys, while a request is answered.
struct KnownNames {
    /// The most arguments that are compared with each hashed name.
    private static let mostArguments = 16

    private let files: [KnownHosts]
    private let candidates: [String]

    init(_ files: [KnownHosts], arguments: [String]) {
        self.files = files
        let port = arguments.firstIndex(of: "-p").flatMap { arguments.dropFirst($0 + 1).first }
        candidates = arguments.dropFirst().filter { !$0.hasPrefix("-") && $0.utf8.count <= 1024 }
            .prefix(Self.mostArguments).flatMap { Self.hosts(in: $0, port) }
    }

    /// The first name of a host key; nil if it has none.
    ///
    /// A hashed name is found only if one of the client's arguments names it.
    func name(of key: SSHPublicKey) -> String? {
        files.lazy.compactMap { $0.names(of: key, candidates: candidates).first }.first
    }

    /// Whether a host key is revoked.
    func isRevoked(_ key: SSHPublicKey) -> Bool { files.contains { $0.isRevoked(key) } }

    /// The host names that an argument may mean, of which some have a port: `host`, `user@host`, `ssh://user@host:port`,
    /// `host:path`.
    private static func hosts(in argument: String, _ port: String?) -> [String] {
        var rest = Substring(argument)
        if rest.hasPrefix("ssh://") { rest = rest.dropFirst(6) }
        if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
        let name = rest.prefix { $0 != "/" }
        guard let colon = name.lastIndex(of: ":") else {
            return [String(name)] + (port.map { ["[\(name)]:\($0)"] } ?? [])
        }
        let (host, port) = (name[..<colon], name[name.index(after: colon)...])
        return [String(name), String(host), "[\(host)]:\(port)"]
    }
}
