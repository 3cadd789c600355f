import Glibc

/// `/run/user/UID`: the directory that a login manager makes for a user's sockets (pam_systemd(8), elogind).
///
/// It counts where `XDG_RUNTIME_DIR` is not set, as under cron, su and sudo, so that a running daemon is found there.
package enum UserRuntimeDirectory {
    /// Where the directories of all users are.
    package static let root = "/run/user"

    /// Why a directory does not count.
    package enum Fault: Error, Equatable {
        /// It is not there, or cannot be reached.
        case missing(errno: Int32)
        /// A link, or a file.
        case notADirectory
        /// Another user's.
        case foreign(owner: UInt32)
        /// Others may enter it: its mode is not 700.
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

    /// Checks a directory: there, no link, this user's own, mode 700.
    package static func check(_ path: String, user: UInt32 = ProcessUser.uid) throws(Fault) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw .missing(errno: errno) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .notADirectory }
        guard status.st_uid == user else { throw .foreign(owner: status.st_uid) }
        guard status.st_mode & 0o777 == 0o700 else { throw .open(mode: status.st_mode & 0o777) }
    }

    /// The directory's path where it counts.
    package static func find(in root: String = root, user: UInt32 = ProcessUser.uid) -> String? {
        let path = path(in: root, user: user)
        return (try? check(path, user: user)) == nil ? nil : path
    }
}

extension Layout {
    /// Where the socket is when there is no runtime directory: beside the store.
    package var fallbackRuntimeDirectory: String { dataDirectory + "/run" }

    /// Why no daemon of this user can have its socket where this layout says; nil if one can.
    ///
    /// After `su`, or `sudo` that keeps the environment, `XDG_RUNTIME_DIR` names another user's directory. Root could make
    /// its own directory there, and the other user's daemon would refuse it from then on.
    package func runtimeFault(user: UInt32 = ProcessUser.uid) -> String? {
        guard runtimeDirectory != fallbackRuntimeDirectory else { return nil }
        let parent = Self.parent(of: runtimeDirectory)
        var status = stat()
        guard unsafe stat(parent, &status) == 0 else {
            let number = errno
            // What can be made is made, as a test's directory is.
            let canMake = unsafe access(Self.parent(of: parent), W_OK) == 0
            guard number != ENOENT || !canMake else { return nil }
            return UserRuntimeDirectory.Fault.missing(errno: number).sentence(about: parent)
        }
        // Root's own (`/tmp`, in containers) is nobody else's; what is made in it is checked by itself.
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
