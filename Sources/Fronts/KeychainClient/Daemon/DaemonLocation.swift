import CLinux
import Glibc

/// The program to start if no daemon is listening.
public enum DaemonLocation: Sendable, Equatable {
    /// `TOUCHSTONE_DAEMON`, if only this user and root can have replaced that program, or else `touchstoned` beside
    /// this program, in the `libexec` directories, or in the system's `bin` directories.
    case automatic
    /// This program.
    case program(String)
    /// None: a daemon must be running.
    case none

    /// The file name of the program in directories.
    static let name = "touchstoned"
    private static let directories = [
        "/usr/libexec/touchstone", "/usr/local/libexec/touchstone", "/usr/bin", "/usr/local/bin",
    ]

    /// The program's path; nil if there is none to start.
    func path() -> String? {
        switch self {
        case .none: nil
        case .program(let path): Self.isProgram(path) ? path : nil
        case .automatic: Self.found()
        }
    }

    /// The path in `TOUCHSTONE_DAEMON`, if it would be started but other users can write to it.
    var unsafePath: String? {
        guard self == .automatic, let path = ProcessEnvironment.variable("TOUCHSTONE_DAEMON"),
            Self.isProgram(path), !ProgramOwnership.isOurs(path)
        else { return nil }
        return path
    }

    private static func found() -> String? {
        // A variable without a valid program is an error to report, not a reason to start another program.
        if let path = ProcessEnvironment.variable("TOUCHSTONE_DAEMON") {
            return isProgram(path) && ProgramOwnership.isOurs(path) ? path : nil
        }
        let beside = ownDirectory().map { [$0] } ?? []
        return (beside + directories).lazy.map { $0 + "/" + name }.first(where: isProgram)
    }

    private static func ownDirectory() -> String? {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink("/proc/self/exe", &path, path.count)
        // A truncated path would name another directory.
        guard count > 0, count < path.count,
            let slash = path[..<count].lastIndex(of: CChar(UInt8(ascii: "/")))
        else {
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
