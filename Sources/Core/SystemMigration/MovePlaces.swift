import KeychainModel

/// Whose keychain moves, and between which directories.
package struct MovePlaces: Sendable, Equatable {
    /// The user whose keychain it is.
    package let user: Account
    /// The account that keeps keychains in system mode.
    package let keeper: Account
    /// The user's own directory of the keychain, `~/.local/share/touchstone`.
    package let userDirectory: String
    /// The directory of all users' keychains in system mode, `/var/lib/touchstone`.
    package let systemDirectory: String
    /// Whose that directory is: root's, who moves keychains.
    let administrator: UInt32

    /// Names the places; tests have others than the system's, and may have another administrator than root.
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

    /// The keychain's name among those of other users.
    var keptName: String { "\(user.uid)" }
    /// Where the keychain is in system mode.
    package var keptDirectory: String { systemDirectory + "/" + keptName }
    /// A copy that is being made, root's own until it is whole.
    var stagedName: String { "\(user.uid).new" }
    /// What a keychain is called that is on its way back to its user.
    var leavingName: String { "\(user.uid).old" }
    /// What it is called once all of it is back, until it was opened there once.
    var spareName: String { "\(user.uid).back" }

    /// Where the keychain was its user's own, once it moved and the former one is removed.
    var originName: String { "\(user.uid).from" }
    /// The same until then: what the user's directory still has is the former one, and nothing else.
    var movingName: String { "\(user.uid).moving" }

    /// Names in the user's directory: a copy on its way back, and keychains that were never opened in system mode.
    static let arrivingName = "arriving"
    static let asideName = "former"
}
