import ArgumentParser
import Glibc
import KeychainModel
import SystemMigration

/// The user whose keychain `touchstone system` moves, and where the keychain is.
struct MovedUser {
    /// The account that keeps keychains in system mode.
    static let keeper = "touchstone"

    let user: UserDatabase.User
    let places: MovePlaces
    /// Whether the ``keeper`` account exists; if not, nothing can be moved, and ``places`` has the user in its place.
    private let hasKeeper: Bool

    /// Finds the named user, or else the user who ran sudo(8) or pkexec(1), or else the user who runs the command.
    ///
    /// - Parameters:
    ///   - name: The user's name or number; nil for the calling user.
    ///   - directory: The keychain's per-user directory. Nil for the one it was moved from; if it was not moved, for the one in
    ///     the environment if the user runs the command, and for `~/.local/share/touchstone` if root does.
    /// - Throws: ``CommandError`` if there is no such user, if it is root, or if the directory cannot be a keychain's.
    init(named name: String?, directory: String?) throws(CommandError) {
        let database = UserDatabase()
        guard let wanted = name ?? Self.asker() else {
            throw CommandError(
                "no user was named",
                hint: "name the user: --user NAME",
                exitCode: .validationFailure
            )
        }
        guard let user = database.user(wanted) else {
            throw CommandError("there is no user '\(wanted)' in /etc/passwd", exitCode: .notFound)
        }
        guard user.uid != 0 else {
            throw CommandError(
                "root's own keychain gains nothing in system mode",
                hint: "name another user: --user NAME",
                exitCode: .validationFailure
            )
        }
        var path =
            directory ?? KeychainMove.origin(of: user.uid, systemDirectory: Self.systemDirectory)
            ?? (ProcessUser.uid == user.uid ? Self.ownDirectory(home: user.home) : nil)
            ?? user.home + Self.usualPlace
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        // A daemon would not find a keychain that is moved back to any other directory.
        guard path.hasPrefix("/"), path.hasSuffix("/touchstone") else {
            throw CommandError(
                "\(Printable.text(path)) is not an absolute path that ends in /touchstone, as every keychain's directory does",
                hint: "give the absolute path: --from DIRECTORY/touchstone",
                exitCode: .validationFailure
            )
        }
        self.user = user
        let keeper = database.user(Self.keeper)
        hasKeeper = keeper != nil
        places = MovePlaces(
            user: Account(user, in: database),
            keeper: Account(keeper ?? user, in: database),
            userDirectory: path,
            systemDirectory: Self.systemDirectory
        )
    }

    private static let systemDirectory = "/var/lib/touchstone"
    private static let usualPlace = "/.local/share/touchstone"

    /// The keychain's directory according to the calling user's environment.
    ///
    /// Ignores `TOUCHSTONE_HOME`: such a keychain is not part of system mode.
    private static func ownDirectory(home: String) -> String? {
        Layout { name in
            switch name {
            case "XDG_DATA_HOME": Environment.value(name)
            case "HOME": Environment.value(name) ?? home
            default: nil
            }
        }?.dataDirectory
    }

    /// The environment variable that the user's programs need to find the keychain there; nil if they need none.
    var dataVariable: String? {
        guard places.userDirectory != user.home + Self.usualPlace else { return nil }
        return "XDG_DATA_HOME=\(places.userDirectory.dropLast("/touchstone".count))"
    }

    /// Checks that no running daemon of the user serves a different keychain, which would silently fall out of use.
    ///
    /// - Throws: ``CommandError`` if one does; only root can detect it. Also if a daemon of the user cannot be inspected.
    func requireNoOtherDaemon() throws(CommandError) {
        let move = KeychainMove(places)
        let daemon = try EnableSystemCommand.told { () throws(MoveError) in try move.otherDaemon() }
        guard let daemon else { return }
        let path = Printable.text(daemon.directory)
        throw CommandError(
            "the daemon of \(user.name), process \(daemon.process), keeps the keychain in \(path); nothing was changed",
            hint:
                "to move that one, use --from \(ShellWord.escaped(daemon.directory)); to move the one in \(Printable.text(places.userDirectory)), stop the daemon first",
            exitCode: .notAvailable
        )
    }

    /// The ID of the user who ran sudo(8) or pkexec(1), or who runs the command; nil for root itself.
    private static func asker() -> String? {
        guard ProcessUser.uid == 0 else { return "\(ProcessUser.uid)" }
        let asker = Environment.value("SUDO_UID") ?? Environment.value("PKEXEC_UID")
        return asker.flatMap { UInt32($0) }.flatMap { $0 == 0 ? nil : "\($0)" }
    }

    /// Checks that the ``keeper`` account exists.
    func requireKeeper() throws(CommandError) {
        guard hasKeeper else {
            throw CommandError(
                "there is no account '\(Self.keeper)', which keeps keychains in system mode; nothing was changed",
                hint: "touchstone system status says what else is missing",
                exitCode: .notAvailable
            )
        }
    }

    /// Checks that the command runs as root; if not, the hint names the user's directory, which root's environment does not.
    static func requireRoot(_ command: String, _ from: String?) throws(CommandError) {
        guard ProcessUser.uid == 0 else {
            let home = Environment.value("HOME") ?? ""
            let elsewhere = ownDirectory(home: home).flatMap { $0 == home + usualPlace ? nil : $0 }
            throw CommandError(
                "only root can move a keychain between accounts",
                hint: "sudo touchstone system \(command)"
                    + ((from ?? elsewhere).map { " --from \(ShellWord.escaped($0))" } ?? ""),
                exitCode: .notAvailable
            )
        }
    }
}
