import ArgumentParser
import Glibc
import KeychainModel
import SystemMigration

/// Whose keychain `touchstone system` is about, and where it is.
struct MovedUser {
    /// The account that keeps keychains in system mode.
    static let keeper = "touchstone"

    let user: UserDatabase.User
    let places: MovePlaces
    /// Whether there is the account; without it nothing can be moved, and the user stands for it in ``places``.
    private let hasKeeper: Bool

    /// The user that is named, or who asked for root's rights, or who runs the command.
    ///
    /// - Parameters:
    ///   - name: The user's name or number; nil for who asks.
    ///   - directory: The keychain's own directory; nil for the one that it was moved from, and before that for the one of the
    ///     environment where the user asks, and for `~/.local/share/touchstone` where root does.
    /// - Throws: ``CommandError`` where there is no such user.
    init(named name: String?, directory: String?) throws(CommandError) {
        let database = UserDatabase()
        guard let wanted = name ?? Self.asker() else {
            throw CommandError(
                "whose keychain is meant?",
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
        // Where no daemon would look for it when it comes back, it is not.
        guard path.hasPrefix("/"), path.hasSuffix("/touchstone") else {
            throw CommandError(
                "\(Printable.text(path)) is not the whole path of a directory 'touchstone', as each keychain's own is called",
                hint: "name the directory by its whole path: --from DIRECTORY/touchstone",
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

    /// Where the environment of the user who asks has the keychain; not the one that `TOUCHSTONE_HOME` names, which is apart from
    /// system mode.
    private static func ownDirectory(home: String) -> String? {
        Layout { name in
            switch name {
            case "XDG_DATA_HOME": Environment.value(name)
            case "HOME": Environment.value(name) ?? home
            default: nil
            }
        }?.dataDirectory
    }

    /// What a program of the user's needs in its environment to find the keychain there; nil where it needs nothing.
    var dataVariable: String? {
        guard places.userDirectory != user.home + Self.usualPlace else { return nil }
        return "XDG_DATA_HOME=\(places.userDirectory.dropLast("/touchstone".count))"
    }

    /// The user's daemon has to keep the keychain that is moved: another one would go out of force with nobody knowing.
    ///
    /// - Throws: ``CommandError`` where it keeps another one; root alone can tell, while it runs.
    func requireNoOtherDaemon() throws(CommandError) {
        guard let daemon = KeychainMove(places).otherDaemon() else { return }
        let path = Printable.text(daemon.directory)
        throw CommandError(
            "the daemon of \(user.name), process \(daemon.process), keeps the keychain in \(path); nothing was changed",
            hint:
                "that one is moved by --from \(path); to move the one in \(Printable.text(places.userDirectory)), end it",
            exitCode: .notAvailable
        )
    }

    /// Who asked for root's rights (sudo(8), pkexec(1)), or who runs the command; nil for root itself.
    private static func asker() -> String? {
        guard ProcessUser.uid == 0 else { return "\(ProcessUser.uid)" }
        let asker = Environment.value("SUDO_UID") ?? Environment.value("PKEXEC_UID")
        return asker.flatMap { UInt32($0) }.flatMap { $0 == 0 ? nil : "\($0)" }
    }

    /// There has to be the account that keeps keychains in system mode.
    func requireKeeper() throws(CommandError) {
        guard hasKeeper else {
            throw CommandError(
                "there is no account '\(Self.keeper)', which keeps keychains in system mode; nothing was changed",
                hint: "touchstone system status says what else is missing",
                exitCode: .notAvailable
            )
        }
    }

    /// Only root moves a keychain; root's environment does not say where a user's is.
    static func requireRoot(_ command: String, _ from: String?) throws(CommandError) {
        guard ProcessUser.uid == 0 else {
            let home = Environment.value("HOME") ?? ""
            let elsewhere = ownDirectory(home: home).flatMap { $0 == home + usualPlace ? nil : $0 }
            throw CommandError(
                "only root can move a keychain between accounts",
                hint: "sudo touchstone system \(command)"
                    + ((from ?? elsewhere).map { " --from \(Printable.text($0))" } ?? ""),
                exitCode: .notAvailable
            )
        }
    }
}
