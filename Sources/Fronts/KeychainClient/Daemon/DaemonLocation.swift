import CLinux
import Glibc

/// Which program is started when no daemon listens.
public enum DaemonLocation: Sendable, Equatable {
    /// `TOUCHSTONE_DAEMON`, if nobody but this user and root can have put another program there, or else `touchstoned`
    /// beside this program, in the `libexec` directories, or beside the commands of the system.
    case automatic
    /// This program.
    case program(String)
    /// None: a daemon must be running.
    case none

    /// The program's name in directories.
    static let name = "touchstoned"
    private static let directories = [
        "/usr/libexec/touchstone", "/usr/local/libexec/touchstone", "/usr/bin", "/usr/local/bin",
    ]

    /// The program's path; nil when there is none to start.
    func path() -> String? {
        switch self {
        case .none: nil
        case .program(let path): Self.isProgram(path) ? path : nil
        case .automatic: Self.found()
        }
    }

    /// The path of `TOUCHSTONE_DAEMON`, where that is what is started and others may write to it.
    var unsafePath: String? {
        guard self == .automatic, let path = ProcessEnvironment.variable("TOUCHSTONE_DAEMON"),
            Self.isProgram(path), !ProgramOwnership.isOurs(path)
        else { return nil }
        return path
    }

    private static func found() -> String? {
        // A variable that names no program is a mistake to be told, not a reason to start another one.
        if let path = ProcessEnvironment.variable("TOUCHSTONE_DAEMON") {
            return isProgram(path) && ProgramOwnership.isOurs(path) ? path : nil
        }
        let beside = ownDirectory().map { [$0] } ?? []
        return (beside + directories).lazy.map { $0 + "/" + name }.first(where: isProgram)
    }

    private static func ownDirectory() -> String? {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink("/proc/self/exe", &path, path.count)
        guard count > 0, let slash = path[..<count].lastIndex(of: CChar(UInt8(ascii: "/"))) else {
            return nil
        }
        return String(validating: path[..<slash].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func isProgram(_ path: String) -> Bool {
        var status = stat()
        guard path.hasPrefix("/"), unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return false
        }
        return unsafe access(path, X_OK) == 0
    }
}
