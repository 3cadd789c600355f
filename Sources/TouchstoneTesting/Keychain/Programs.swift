import Foundation

/// The built programs: beside the running one, or in the directory that `TOUCHSTONE_BIN` names.
public enum Programs {
    /// The directory of `touchstone` and `touchstoned`.
    public static let directory: String = {
        if let chosen = ProcessInfo.processInfo.environment["TOUCHSTONE_BIN"] { return chosen }
        return URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .path
    }()

    /// The daemon.
    public static let touchstoned = directory + "/touchstoned"
    /// The command line.
    public static let touchstone = directory + "/touchstone"
}
