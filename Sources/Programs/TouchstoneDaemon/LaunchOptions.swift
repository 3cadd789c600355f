import Glibc
import KeychainModel

/// The parsed command line.
///
/// Parsed by hand: a general parser would take longer than the rest of the start.
enum LaunchOptions: Equatable {
    /// Becomes the daemon of `owner`, nil for the user that runs it, in the foreground (the default) or in the
    /// background.
    case serve(isDetached: Bool, owner: Owner?)
    /// Reads the configuration, reports its faults, and exits; `owner` as above.
    case checkConfiguration(owner: Owner?)
    /// Prints this text on standard output and exits.
    case tell(String)

    /// `EX_USAGE` of sysexits.h.
    static let usageStatus: CInt = 64

    private static let usage =
        "touchstoned [--owner UID] [--foreground | --check-configuration], or touchstoned --detach"
    private static let help = """
        Keeps the keychain of one user: a finger or a passcode releases a key.

        Started on first use by the programs that need it, or by the user's service manager. Paths come from
        XDG_RUNTIME_DIR, XDG_DATA_HOME and XDG_CONFIG_HOME; TOUCHSTONE_HOME moves all of them.

        In system mode the system's service manager starts it under an account of its own, with --owner and a listening
        socket. Paths are fixed then, and no variable counts: see touchstoned(8).

        Usage: \(usage)

          --detach               return once the daemon listens, and leave it in the background
          --foreground           stay in the foreground and log to standard error (the default)
          --check-configuration  read the configuration, say what is wrong with it, and end
          --owner UID            system mode: keep the keychain of the user with this number
          -V, --version          show the version
          -h, --help             show this

        """

    private enum Action: String {
        case detach = "--detach"
        case foreground = "--foreground"
        case checkConfiguration = "--check-configuration"
        case version = "--version"
        case help = "--help"

        init?(named name: String) {
            switch name {
            case "-V": self = .version
            case "-h": self = .help
            default: self.init(rawValue: name)
            }
        }
    }

    /// Parses the arguments after the program's name.
    ///
    /// - Parameters:
    ///   - arguments: the arguments after the program's name.
    ///   - user: looks up a user by number; nil if there is none.
    /// - Throws: ``StartError`` for an unknown option, for options that exclude each other, and for an invalid owner.
    init(
        _ arguments: some Collection<String>,
        user: (UInt32) -> Owner? = Owner.user
    ) throws(StartError) {
        var action: Action?
        var owner: Owner?
        var rest = Array(arguments)[...]
        while let argument = rest.popFirst() {
            if argument == "--owner" {
                guard owner == nil else { throw StartError("--owner is given twice", hint: Self.usage) }
                owner = try Self.owner(named: rest.popFirst(), user)
                continue
            }
            guard let named = Action(named: argument) else {
                throw StartError("there is no option \(argument)", hint: Self.usage)
            }
            guard action == nil else {
                throw StartError("the options cannot be combined", hint: Self.usage)
            }
            action = named
        }
        switch action {
        case .version, .help:
            guard owner == nil else {
                throw StartError("the options cannot be combined", hint: Self.usage)
            }
            self = .tell(action == .help ? Self.help : ProductVersion.text + "\n")
        case .detach:
            guard owner == nil else {
                throw StartError(
                    "--detach and --owner cannot be combined: in system mode the service manager starts the daemon",
                    hint: "systemctl start touchstoned@UID.socket"
                )
            }
            self = .serve(isDetached: true, owner: nil)
        case .foreground, nil: self = .serve(isDetached: false, owner: owner)
        case .checkConfiguration: self = .checkConfiguration(owner: owner)
        }
    }

    /// The user with a number: written as in the names of directories, not the "no user" value of system calls, and not
    /// root, who has no keychain in system mode because nothing can be kept from root.
    private static func owner(
        named text: String?,
        _ user: (UInt32) -> Owner?
    ) throws(StartError) -> Owner {
        guard let text, let uid = UInt32(text), String(uid) == text, uid != .max else {
            throw StartError(
                "--owner takes a user's number\(text.map { ", not \($0)" } ?? "")",
                hint: "id -u NAME tells it"
            )
        }
        guard uid != 0 else {
            throw StartError(
                "root has no keychain in system mode",
                hint: "name the number of another user: id -u NAME"
            )
        }
        guard let owner = user(uid) else {
            throw StartError("there is no user \(uid)", hint: "getent passwd lists the users")
        }
        return owner
    }
}
