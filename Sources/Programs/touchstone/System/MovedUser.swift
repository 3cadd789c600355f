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
    ///   - directory: The keychain's own directory, where it is not `~/.local/share/touchstone`.
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
        let path = directory ?? user.home + "/.local/share/touchstone"
        guard path.hasPrefix("/") else {
            throw CommandError(
                "\(path) is not an absolute path",
                hint: "name the directory by its whole path: --from DIRECTORY",
                exitCode: .validationFailure
            )
        }
        self.user = user
        let keeper = database.user(Self.keeper)
        hasKeeper = keeper != nil
        places = MovePlaces(
            user: database.account(user),
            keeper: database.account(keeper ?? user),
            userDirectory: path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path,
            systemDirectory: "/var/lib/touchstone"
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

    /// Only root moves a keychain.
    static func requireRoot(_ command: String) throws(CommandError) {
        guard ProcessUser.uid == 0 else {
            throw CommandError(
                "only root can move a keychain between accounts",
                hint: "sudo touchstone system \(command)",
                exitCode: .notAvailable
            )
        }
    }
}
