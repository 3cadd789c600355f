import Glibc
import KeychainModel

/// Where a user's keychain is according to the directories; each step of a move is one of these, also after a crash.
package enum MoveStanding: Sendable, Equatable {
    /// In the user's own directory, or not created yet.
    case perUser
    /// In the user's own directory, beside an incomplete copy for system mode. `enable` continues, `disable` removes the
    /// copy.
    case begun
    /// In the user's own directory, while system mode was enabled without this command, so that clients find an empty
    /// keychain there. `enable` moves the keychain to system mode, `disable` turns system mode off.
    case bypassed
    /// Back in the user's own directory; the copy in system mode is kept until the user's keychain was opened once.
    case returned
    /// In system mode.
    case system
    /// In system mode; the user's former keychain is kept until the one in system mode was opened once.
    case systemUnchecked
    /// In neither place: moving to system mode. `enable` completes the move, `disable` reverts it.
    case enabling
    /// In neither place: moving back. `disable` completes the move, `enable` reverts it.
    case disabling
    /// In system mode, while the user's own directory has a keychain other than the former one.
    case twofold
    /// The keychain was moved to system mode and is no longer there.
    case lost

    /// Whether a daemon in system mode serves it.
    package var isSystem: Bool {
        switch self {
        case .system, .systemUnchecked, .twofold: true
        case .perUser, .begun, .bypassed, .returned, .enabling, .disabling, .lost: false
        }
    }
}

/// The files found in both directories.
struct MoveFacts {
    /// The keychain in system mode exists.
    var isKept = false
    /// The directory in system mode has only the files that a daemon creates without a keychain.
    var isKeptEmpty = false
    /// A copy for system mode is in progress.
    var isStaged = false
    /// The keychain is on its way back to its user.
    var isLeaving = false
    /// The user's directory may still have the former keychain, which was not removed yet.
    var isMoving = false
    /// A keychain was moved back and has not been opened there yet.
    var hasSpare = false
    /// The user's directory has the mark that its keychain was moved.
    var isMarked = false
    /// The user's directory has keychain files.
    var hasKeychain = false
    /// The user's directory has a copy on its way back.
    var isArriving = false

    /// The standing; the system directory takes precedence, because only root can create names in it.
    var standing: MoveStanding {
        if isKept {
            if hasKeychain {
                if isMarked, isMoving { return .systemUnchecked }
                return isKeptEmpty && !isMarked ? .bypassed : .twofold
            }
            return hasSpare || isArriving ? .systemUnchecked : .system
        }
        if isLeaving { return .disabling }
        guard isMarked else { return hasSpare ? .returned : isStaged ? .begun : .perUser }
        return hasKeychain || isStaged ? .enabling : .lost
    }
}
