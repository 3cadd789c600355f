import Glibc
import KeychainModel

/// Why a keychain was not moved, or not all the way; everything that is in force stays in force.
package struct MoveError: Error, Equatable {
    /// What a program can act on.
    package enum Code: Sendable {
        /// The keychain is not in system mode.
        case notEnabled
        /// It is in system mode, and nothing is left to do.
        case enabledAlready
        /// There are two keychains, and nothing says which of them counts.
        case twoKeychains
        /// The keychain went to a place where it is not.
        case lost
        /// A file or directory is not what it has to be, or belongs to somebody else.
        case unsafePlace
        /// Another process uses the keychain, or another move is under way.
        case busy
        /// It has no keybag, without which nothing in it opens, or not all of it came back.
        case notWhole
        /// There is no room on the disk.
        case full
        /// The files changed while they were copied, or are too large.
        case changed
        /// A system call failed.
        case system
    }

    package let code: Code
    /// One clause.
    package let message: String
    /// What to do; nil where the message says it.
    package let hint: String?

    init(_ code: Code, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }

    /// A failed system call on `path`.
    static func system(_ path: String, _ number: CInt = errno) -> MoveError {
        guard number != ENOSPC, number != EDQUOT else {
            return MoveError(.full, "there is no room for \(path)", hint: "make room, then run it again")
        }
        return MoveError(.system, "\(path): \(SystemError.name(of: number))")
    }
}
