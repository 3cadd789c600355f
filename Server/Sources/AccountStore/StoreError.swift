/// Why a store operation failed; nothing of it happened, unless ``Code/unavailable`` says otherwise.
public struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of error, by how to handle it.
    public enum Code: Sendable, Hashable {
        /// The database does not answer, or not in time: 503, retry later. If only the answer was lost, the transaction
        /// may have happened.
        case unavailable
        /// Too many requests are waiting, or concurrent transactions blocked the rows: 503, retry.
        case overloaded
        /// The disk is full: 503, an administrator has to act.
        case full
        /// The database can be read but not written: 503.
        case readOnly
        /// The operation conflicts with stored data: 409.
        case conflict(Conflict)
        /// The object does not exist: 404.
        case notFound
        /// Stored data is not in the form that this program writes.
        case damaged
        /// A later version of this program created the database: install that version.
        case newerSchema
        /// The database has an earlier version, or is empty: run `touchstone-server migrate`.
        case notMigrated
    }

    /// The kind of conflict.
    public enum Conflict: String, Sendable, Hashable, CaseIterable {
        /// Another account has that name.
        case usernameTaken
        /// An account with that id exists.
        case accountExists
        /// A credential with that id exists, of any account.
        case credentialExists
        /// The account has the maximum number of credentials.
        case tooManyCredentials
        /// An object with that id exists: choose another id.
        case identifierTaken
        /// The stored password is no longer the one that was checked.
        case passwordChanged
        /// The credential is suspended for another reason than its counter.
        case suspendedForOtherReason
        /// The limited session that asks has done what it was for, or has ended.
        case sessionEnded
    }

    /// The kind of error.
    public let code: Code
    /// The cause for the log; contains no secrets, and is not meant for clients.
    public let cause: String

    /// Creates an error.
    public init(_ code: Code, cause: String = "") {
        self.code = code
        self.cause = cause
    }

    /// Errors are equal when they have the same code.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// The text for a log.
    public var description: String { cause.isEmpty ? "\(code)" : "\(code): \(cause)" }
}
