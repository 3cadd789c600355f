import Glibc
import KeychainModel

/// Why a keychain was not moved, or only in part; the active keychain stays active.
package struct MoveError: Error, Equatable {
    /// The kind of error, for programs.
    package enum Code: Sendable {
        /// The keychain is not in system mode.
        case notEnabled
        /// The keychain is in system mode, and nothing is left to do.
        case enabledAlready
        /// There are two keychains, and no record says which one is active.
        case twoKeychains
        /// The keychain was moved to a place where it no longer is.
        case lost
        /// A file or directory has an unexpected type or mode, or belongs to another user.
        case unsafePlace
        /// Another process uses the keychain, or another move is under way.
        case busy
        /// The keychain has no keybag, without which nothing in it can be opened, or only part of it came back.
        case notWhole
        /// There is no room on the disk.
        case full
        /// The files changed while they were copied, or are too large.
        case changed
        /// A system call failed.
        case system
    }

    package let code: Code
    /// The message, one clause.
    package let message: String
    /// What the user can do; nil if the message says it.
    package let hint: String?

    init(_ code: Code, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }

    /// Passes on why a file could not be read.
    static func reading<R>(_ body: () throws(UnreadableFile) -> R) throws(MoveError) -> R {
        do throws(UnreadableFile) {
            return try body()
        } catch {
            throw MoveError(.system, error.description)
        }
    }

    /// A failed system call on `path`.
    static func system(_ path: String, _ number: CInt = errno) -> MoveError {
        guard number != ENOSPC, number != EDQUOT else {
            return MoveError(.full, "there is no room for \(path)", hint: "make room, then run it again")
        }
        return MoveError(.system, "\(path): \(SystemError.name(of: number))")
    }
}
