import Glibc
import KeychainModel

/// What the command line asks for.
///
/// Read here and not by a parser for any command line: that one would take longer than all the rest of a start.
enum LaunchOptions {
    /// Becomes the daemon, and stays in the foreground (the default) or goes into the background.
    case serve(isDetached: Bool)
    /// Reads the configuration, says what is wrong with it, and ends.
    case checkConfiguration
    /// Prints this on standard output and ends.
    case tell(String)

    /// `EX_USAGE` of sysexits.h.
    static let usageStatus: CInt = 64

    private static let usage = "touchstoned [--detach | --foreground | --check-configuration]"
    private static let help = """
        Keeps the keychain of one user: a finger or a passcode releases a key.

        Started on first use by the programs that need it, or by the user's service manager. Paths come from
        XDG_RUNTIME_DIR, XDG_DATA_HOME and XDG_CONFIG_HOME; TOUCHSTONE_HOME moves all of them.

        Usage: \(usage)

          --detach               return once the daemon listens, and leave it in the background
          --foreground           stay in the foreground and log to standard error (the default)
          --check-configuration  read the configuration, say what is wrong with it, and end
          -V, --version          show the version
          -h, --help             show this

        """

    /// Reads the arguments after the program's name.
    ///
    /// - Throws: ``StartError`` for an option that there is not, and for more than one.
    init(_ arguments: some Collection<String>) throws(StartError) {
        if let unknown = arguments.first(where: { Self(named: $0) == nil }) {
            throw StartError("there is no option \(unknown)", hint: Self.usage)
        }
        guard arguments.count <= 1 else {
            throw StartError("the options exclude each other", hint: Self.usage)
        }
        self = arguments.first.flatMap(Self.init(named:)) ?? .serve(isDetached: false)
    }

    private init?(named name: String) {
        switch name {
        case "--detach": self = .serve(isDetached: true)
        case "--foreground": self = .serve(isDetached: false)
        case "--check-configuration": self = .checkConfiguration
        case "--version", "-V": self = .tell(ProductVersion.text + "\n")
        case "--help", "-h": self = .tell(Self.help)
        default: return nil
        }
    }
}
