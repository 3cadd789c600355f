import Glibc
import KeychainModel

/// Where a user's keychain is, as the directories say: each moment of a move is one of these, also after a crash.
package enum MoveStanding: Sendable, Equatable {
    /// In the user's own directory, or nowhere yet.
    case perUser
    /// In the user's own directory; a copy for system mode was begun and is not whole. `enable` goes on, `disable` removes it.
    case begun
    /// In the user's own directory, while somebody turned system mode on past this command: clients find an empty one there.
    /// `enable` moves it there, `disable` turns that off.
    case bypassed
    /// In the user's own directory since it came back; the one in system mode is kept until that was opened once.
    case returned
    /// In system mode.
    case system
    /// In system mode; the user's former one is kept until that was opened once.
    case systemUnchecked
    /// Neither: on its way to system mode. `enable` finishes it, `disable` undoes it.
    case enabling
    /// Neither: on its way back. `disable` finishes it, `enable` undoes it.
    case disabling
    /// In system mode, while the user's own directory has another one that is not the former one.
    case twofold
    /// It went to system mode, and is not there.
    case lost

    /// Whether a daemon in system mode keeps it.
    package var isSystem: Bool {
        switch self {
        case .system, .systemUnchecked, .twofold: true
        case .perUser, .begun, .bypassed, .returned, .enabling, .disabling, .lost: false
        }
    }
}

/// What there is in both directories.
struct MoveFacts {
    /// The keychain in system mode.
    var isKept = false
    /// What is there is no keychain: nothing but what a daemon makes that finds none.
    var isKeptEmpty = false
    /// A copy that is being made for it.
    var isStaged = false
    /// The keychain on its way back to its user.
    var isLeaving = false
    /// What the user's directory has may be the former one: it was not removed yet.
    var isMoving = false
    /// One that went back, and was not opened there yet.
    var hasSpare = false
    /// The user's directory says that its keychain has moved.
    var isMarked = false
    /// It has a keychain's files.
    var hasKeychain = false
    /// It has a copy that is on its way back.
    var isArriving = false

    /// What is in the account's directory counts first: nobody but root gives names there.
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
