/// An administrator's token.
public struct AdminToken: Sendable, Equatable {
    /// The token's digest.
    public let digest: TokenDigest
    /// The administrator's name, for the audit.
    public let name: String
    /// What it allows.
    public let role: AdminRole
    /// When it was created.
    public let createdAt: Timestamp
    /// When it expires; nil: valid until it is removed.
    public let expiresAt: Timestamp?

    /// Creates a token.
    public init(
        digest: TokenDigest,
        name: String,
        role: AdminRole = .all,
        createdAt: Timestamp,
        expiresAt: Timestamp? = nil
    ) {
        self.digest = digest
        self.name = name
        self.role = role
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// What an administrator may do; each role may also do what those before it may.
public enum AdminRole: String, Sendable, CaseIterable, Comparable {
    /// Read accounts, their sessions and credentials, and the audit.
    case read
    /// Help the owner of an account that is there: links, sessions, credentials, locks, and passwords that have to be changed.
    case helpDesk = "help-desk"
    /// Everything.
    case all

    /// Whether a role may do less than another.
    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .read: 0
        case .helpDesk: 1
        case .all: 2
        }
    }
}
