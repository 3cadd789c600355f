import Glibc

/// `/run/user/UID`: the directory that a login manager creates for a user's sockets (pam_systemd(8), elogind).
///
/// It is used if `XDG_RUNTIME_DIR` is not set, as under cron, su and sudo, so that a running daemon is found there.
package enum UserRuntimeDirectory {
    /// The parent of all users' directories.
    package static let root = "/run/user"

    /// Why a directory is not used.
    package enum Fault: Error, Equatable {
        /// It does not exist, or cannot be accessed.
        case missing(errno: Int32)
        /// It is a link or a file.
        case notADirectory
        /// It belongs to another user.
        case foreign(owner: UInt32)
        /// Other users may enter it: its mode is not 700.
        case open(mode: UInt32)

        /// One clause without a full stop, about the directory `path`.
        package func sentence(about path: String) -> String {
            switch self {
            case .missing(let number): "\(path): \(SystemError.name(of: number))"
            case .notADirectory: "\(path) is not a directory"
            case .foreign(let owner): "\(path) belongs to user \(owner)"
            case .open(let mode): "\(path) has mode \(String(mode, radix: 8)) instead of 700"
            }
        }
    }

    /// The directory's path, for this process's user.
    package static func path(in root: String = root, user: UInt32 = ProcessUser.uid) -> String {
        "\(root)/\(user)"
    }

    /// Checks that a directory exists, is no link, belongs to this user, and has mode 700.
    package static func check(_ path: String, user: UInt32 = ProcessUser.uid) throws(Fault) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw .missing(errno: errno) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .notADirectory }
        guard status.st_uid == user else { throw .foreign(owner: status.st_uid) }
        guard status.st_mode & 0o777 == 0o700 else { throw .open(mode: status.st_mode & 0o777) }
    }

    /// The directory's path if it passes the check; nil otherwise.
    package static func find(in root: String = root, user: UInt32 = ProcessUser.uid) -> String? {
        let path = path(in: root, user: user)
        return (try? check(path, user: user)) == nil ? nil : path
    }
}

extension Layout {
    /// The socket's directory if there is no runtime directory: beside the store.
    package var fallbackRuntimeDirectory: String { dataDirectory + "/run" }

    /// Why a daemon of this user cannot create its socket at this layout's path; nil if it can.
    ///
    /// After `su`, or `sudo` that keeps the environment, `XDG_RUNTIME_DIR` names another user's directory. Root could
    /// create its own directory there, which the other user's daemon would then refuse.
    package func runtimeFault(user: UInt32 = ProcessUser.uid) -> String? {
        guard runtimeDirectory != fallbackRuntimeDirectory else { return nil }
        let parent = Self.parent(of: runtimeDirectory)
        var status = stat()
        guard unsafe stat(parent, &status) == 0 else {
            let number = errno
            // A missing directory that can be created is no fault, as for a test's.
            let canMake = unsafe access(Self.parent(of: parent), W_OK) == 0
            guard number != ENOENT || !canMake else { return nil }
            return UserRuntimeDirectory.Fault.missing(errno: number).sentence(about: parent)
        }
        // A directory of root (`/tmp`, in containers) belongs to no other user; directories created in it are checked
        // themselves.
        guard status.st_uid != user, status.st_uid != 0 else { return nil }
        return UserRuntimeDirectory.Fault.foreign(owner: status.st_uid).sentence(about: parent)
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex else {
            return "/"
        }
        return String(path[..<slash])
    }
}
