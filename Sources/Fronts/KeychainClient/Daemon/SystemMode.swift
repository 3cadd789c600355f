import CLinux
import Glibc
import KeychainModel

/// System mode in the client: the daemon runs under an account of its own, and the service manager creates its socket in a
/// directory owned by root.
///
/// All paths are fixed, because an attacker could set environment variables.
struct SystemMode: Sendable {
    /// The directory that contains one directory per user, with the socket.
    var directory = "/run/touchstone"
    /// If this file exists, a client never starts or uses a user's own daemon.
    var onlyFile = "/etc/touchstone/system-only"
    /// The owner of the directories.
    var directoryOwner: UInt32 = 0
    /// The user database, passwd(5), for the number of the daemon's account.
    var users = "/etc/passwd"
    /// The user whose keychain the client uses.
    var user: UInt32 { ProcessUser.uid }

    /// The account that daemons run under.
    static let account = "touchstone"

    /// The layout of this user's daemon.
    var layout: Layout {
        let own = Layout.ofSystem(uid: user)
        guard directory != "/run/touchstone" else { return own }
        return Layout(
            runtimeDirectory: "\(directory)/\(user)",
            dataDirectory: own.dataDirectory,
            configurationFile: own.configurationFile
        )
    }

    /// The name of the socket's unit in the service manager.
    var socketUnit: String { "touchstoned@\(user).socket" }
    /// The name of the daemon's unit in the service manager.
    var serviceUnit: String { "touchstoned@\(user).service" }

    /// Whether this user's keychain is served by the system's daemon.
    ///
    /// It is if the user has a socket there, even one that fails the checks: another daemon would have another, empty
    /// keychain. Environment variables that name a daemon or a home take precedence, unless the administrator forbids it.
    /// `variable` looks up an environment variable, nil for an empty one.
    func isInForce(variable: (String) -> String?) -> Bool {
        if Self.isThere(onlyFile) { return true }
        guard variable("TOUCHSTONE_HOME") == nil, variable("TOUCHSTONE_DAEMON") == nil else { return false }
        return Self.isThere(layout.socket)
    }

    /// Whether a file exists; also true if the file system cannot tell.
    ///
    /// A path that the caller may not access counts as missing, as in a sandbox without system mode: the caller then uses
    /// the user's own daemon, which creates no second keychain (``MovedKeychain``).
    private static func isThere(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 || ![ENOENT, ENOTDIR, EACCES, EPERM].contains(errno)
    }

    /// Checks that only root can have created the socket.
    ///
    /// - Throws: ``DaemonAbsence`` if the directory does not exist, ``KeychainError`` if others can write to
    ///   it.
    func checkDirectory() throws {
        for path in [directory, layout.runtimeDirectory] {
            let descriptor = unsafe open(path, CLINUX_O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else {
                if errno == ENOENT { throw DaemonAbsence() }
                throw fault(path, SystemError.name(of: errno))
            }
            defer { close(descriptor) }
            var status = stat()
            guard unsafe fstat(descriptor, &status) == 0 else {
                throw fault(path, SystemError.name(of: errno))
            }
            guard status.st_uid == directoryOwner else {
                throw fault(path, "belongs to user \(status.st_uid)")
            }
            guard status.st_mode & 0o022 == 0 else {
                throw fault(path, "has mode \(String(status.st_mode & 0o777, radix: 8))")
            }
        }
    }

    private func fault(_ path: String, _ reason: String) -> KeychainError {
        .notAvailable(.systemDirectory, detail: "\(path) \(reason)")
    }

    /// Whether to trust a socket that this user called listen(2) on: root's, because the service manager calls it, or the
    /// account's.
    func trusts(peer uid: UInt32) -> Bool { uid == 0 || uid == accountNumber }

    private var accountNumber: UInt32? {
        UserDatabase(users: users).users.first { $0.name == Self.account }?.uid
    }

    /// The error if no daemon answers.
    var absence: KeychainError {
        Self.isThere(layout.socket)
            ? .notAvailable(.systemDaemonSilent, detail: serviceUnit)
            : .notAvailable(.systemSocketMissing, detail: socketUnit)
    }
}

/// A system file, such as the user and group databases.
enum SystemFile {
    /// The file's text; empty if it cannot be read.
    static func text(_ path: String) -> String {
        (try? SmallFile.bytes(path, atMost: .max)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
