import KeychainModel

/// The user of a move and the directories it moves between.
package struct MovePlaces: Sendable, Equatable {
    /// The user who owns the keychain.
    package let user: Account
    /// The account that keeps keychains in system mode.
    package let keeper: Account
    /// The user's own directory of the keychain, `~/.local/share/touchstone`.
    package let userDirectory: String
    /// The directory of all users' keychains in system mode, `/var/lib/touchstone`.
    package let systemDirectory: String
    /// The owner of that directory: root, who moves keychains.
    let administrator: UInt32

    /// Creates the places of a move; tests use other directories, and may use an administrator other than root.
    package init(
        user: Account,
        keeper: Account,
        userDirectory: String,
        systemDirectory: String,
        administrator: UInt32 = 0
    ) {
        self.user = user
        self.keeper = keeper
        self.userDirectory = userDirectory
        self.systemDirectory = systemDirectory
        self.administrator = administrator
    }

    /// The name of the user's keychain in the system directory.
    var keptName: String { "\(user.uid)" }
    /// Where the keychain is in system mode.
    package var keptDirectory: String { systemDirectory + "/" + keptName }
    /// The name of a copy in progress; root owns it until it is complete.
    var stagedName: String { "\(user.uid).new" }
    /// The name of a keychain on its way back to its user.
    var leavingName: String { "\(user.uid).old" }
    /// The name of the copy left in system mode after a move back, until the user's keychain was opened once.
    var spareName: String { "\(user.uid).back" }

    /// The record of the user's former directory, once the former keychain is removed.
    var originName: String { "\(user.uid).from" }
    /// The same record before that: every file still in the user's directory belongs to the former keychain.
    var movingName: String { "\(user.uid).moving" }

    /// Names in the user's directory: a copy on its way back, and keychains set aside that were never opened in system
    /// mode.
    static let arrivingName = "arriving"
    static let asideName = "former"
}
