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
    ///
    /// - Throws: ``SigningRefusal`` if a file is there and cannot be read whole: it may say that a host's key is revoked.
    func read(arguments: [String]) throws(SigningRefusal) -> KnownNames {
        var files: [KnownHosts] = []
        for path in paths {
            if let file = try Self.read(path) { files.append(file) }
        }
        return KnownNames(files, arguments: arguments)
    }

    private static func read(_ path: String) throws(SigningRefusal) -> KnownHosts? {
        var status = stat()
        do throws(UnreadableFile) {
            guard unsafe stat(path, &status) == 0 else { throw .system(path) }
            // Reading a pipe would wait.
            guard status.st_mode & S_IFMT == S_IFREG else { throw UnreadableFile(path, .malformed) }
            let bytes = try SmallFile.bytes(path, atMost: KnownHosts.longest)
            return KnownHosts(String(decoding: bytes, as: UTF8.self))
        } catch {
            guard !error.isMissing, error.number != ENOTDIR else { return nil }
            throw SigningRefusal(reason: "known hosts that cannot be read, \(error)")
        }
    }
}

/// What is known of hosts by their keys, while a request is answered.
struct KnownNames {
    /// The most arguments that are compared with each hashed name.
    private static let mostArguments = 16

    /// Nothing is known.
    static let none = KnownNames([], arguments: [])

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
