import CLinux
import Glibc
import KeychainModel

/// System mode, as a client finds it: the daemon runs under an account of its own, and the service manager made its socket
/// in a directory that is root's.
///
/// All paths are fixed: what an environment names could be an attacker's.
struct SystemMode: Sendable {
    /// The directory that has one for each user, with the socket.
    var directory = "/run/touchstone"
    /// Where this is, no client starts a daemon of its user's, or looks for one.
    var onlyFile = "/etc/touchstone/system-only"
    /// Whose the directories are.
    var directoryOwner: UInt32 = 0
    /// The list of users, passwd(5), which tells the account's number.
    var users = "/etc/passwd"
    /// Whose keychain the client wants.
    var user: UInt32 { ProcessUser.uid }

    /// The account that daemons run under.
    static let account = "touchstone"

    /// The places of this user's daemon.
    var layout: Layout {
        let own = Layout.ofSystem(uid: user)
        guard directory != "/run/touchstone" else { return own }
        return Layout(
            runtimeDirectory: "\(directory)/\(user)",
            dataDirectory: own.dataDirectory,
            configurationFile: own.configurationFile
        )
    }

    /// The service manager's name of what makes the socket.
    var socketUnit: String { "touchstoned@\(user).socket" }
    /// The service manager's name of the daemon.
    var serviceUnit: String { "touchstoned@\(user).service" }

    /// Whether the keychain of this user is the system's daemon's.
    ///
    /// It is where there is a socket for the user, believable or not: another daemon would have another, empty keychain. Who
    /// names a daemon or a home for it by a variable means that one, unless the administrator forbids it. `variable` looks an
    /// environment variable up; nil for one that is empty.
    func isInForce(variable: (String) -> String?) -> Bool {
        if Self.isThere(onlyFile) { return true }
        guard variable("TOUCHSTONE_HOME") == nil, variable("TOUCHSTONE_DAEMON") == nil else { return false }
        return Self.isThere(layout.socket)
    }

    /// Whether a path names something; also where the file system does not tell.
    ///
    /// What the caller may not look at, as in a sandbox that knows nothing of system mode, is not there for it: it goes on
    /// with the user's own daemon, which makes no second keychain (``MovedKeychain``).
    private static func isThere(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 || ![ENOENT, ENOTDIR, EACCES, EPERM].contains(errno)
    }

    /// Checks that nobody but root could have put the socket where it is.
    ///
    /// - Throws: ``DaemonAbsence`` where there is no directory, ``KeychainError`` where others can write to it.
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

    /// Whether a socket that this user called listen(2) for is believed: root's, for whom the service manager did, or the
    /// account's.
    func trusts(peer uid: UInt32) -> Bool { uid == 0 || uid == accountNumber }

    private var accountNumber: UInt32? {
        UserDatabase(users: users).users.first { $0.name == Self.account }?.uid
    }

    /// What a caller is told where nobody answers.
    var absence: KeychainError {
        Self.isThere(layout.socket)
            ? .notAvailable(.systemDaemonSilent, detail: serviceUnit)
            : .notAvailable(.systemSocketMissing, detail: socketUnit)
    }
}

/// A file of the system's own, such as those of users and groups.
enum SystemFile {
    /// Its text; empty where it cannot be read.
    static func text(_ path: String) -> String {
        SmallFile.bytes(path, upTo: .max).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
