import ArgumentParser
import Glibc
import KeychainModel
import SSHFormat

/// The hosts for which alone a key is to be used, by the keys that ssh knows of them.
enum AllowedHosts {
    /// The keys of these hosts in the files of known hosts.
    ///
    /// - Throws: ``CommandError`` for a host that is not in them.
    static func find(_ names: [String]) throws(CommandError) -> [NamedKey.Host] {
        guard !names.isEmpty else { return [] }
        var files: [KnownHosts] = []
        for path in [userFile, KnownHosts.systemFile].compactMap(\.self) {
            if let file = try read(path) { files.append(file) }
        }
        var hosts: [NamedKey.Host] = []
        for name in names {
            let keys = Set(files.flatMap { $0.keys(of: name) }.map(\.fingerprint))
            guard !keys.isEmpty else {
                throw CommandError(
                    "\(Printable.text(name)) is not in known_hosts",
                    hint: "connect to it once with ssh; a host on another port is [HOST]:PORT there",
                    exitCode: .notFound
                )
            }
            hosts += keys.sorted().compactMap { NamedKey.Host(name: name, fingerprint: $0) }
        }
        guard hosts.count <= NamedKey.mostHosts else {
            throw CommandError(
                "the hosts have \(hosts.count) keys, and \(NamedKey.mostHosts) fit",
                hint: "make several keys",
                exitCode: .validationFailure
            )
        }
        return hosts
    }

    private static var userFile: String? {
        Environment.value("HOME").map { KnownHosts.userFile(home: $0) }
    }

    private static func read(_ path: String) throws(CommandError) -> KnownHosts? {
        do throws(UnreadableFile) {
            let bytes = try SmallFile.bytes(path, atMost: KnownHosts.longest)
            return KnownHosts(String(decoding: bytes, as: UTF8.self))
        } catch {
            guard !error.isMissing else { return nil }
            throw CommandError("known hosts cannot be read: \(error)", exitCode: .failed)
        }
    }
}
