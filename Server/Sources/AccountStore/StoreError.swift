/// Why a store did not do what it was asked; nothing of it happened, unless ``Code/unavailable`` says otherwise.
public struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What to do about it.
    public enum Code: Sendable, Hashable {
        /// The database does not answer, or not in time: 503, try again later. When the answer was lost on the way, the transaction
        /// may have happened.
        case unavailable
        /// More requests wait than there is room for, or others kept the rows to themselves: 503, try again.
        case overloaded
        /// No space on the disk: 503, and an administrator has to act.
        case full
        /// It can be read but not written: 503.
        case readOnly
        /// Something else has that place: 409.
        case conflict(Conflict)
        /// What is meant is not there: 404.
        case notFound
        /// What is stored is not what this program writes.
        case damaged
        /// A later version of this program made the database: install that one.
        case newerSchema
        /// The database is of an earlier version, or empty: run `touchstone-server migrate`.
        case notMigrated
    }

    /// What has that place.
    public enum Conflict: String, Sendable, Hashable, CaseIterable {
        /// Another account has that name.
        case usernameTaken
        /// An account of that id is there.
        case accountExists
        /// A credential of that id is there, of whatever account.
        case credentialExists
        /// The account has as many credentials as it may.
        case tooManyCredentials
        /// Something of that id is there: choose another.
        case identifierTaken
        /// The password is not the one that was checked any more.
        case passwordChanged
    }

    /// What to do about it.
    public let code: Code
    /// What a log says; nothing secret, nothing for a client.
    public let cause: String

    /// Describes an error.
    public init(_ code: Code, cause: String = "") {
        self.code = code
        self.cause = cause
    }

    /// Two are equal when the same has to be done.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// For a log.
    public var description: String { cause.isEmpty ? "\(code)" : "\(code): \(cause)" }
}
