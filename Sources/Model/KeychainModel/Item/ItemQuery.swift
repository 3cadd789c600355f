/// What an item operation asks for: which items, how many, and what to return of each.
public struct ItemQuery: Sendable, Equatable {
    /// How many items may answer.
    public enum Limit: Sendable, Equatable {
        /// `kSecMatchLimitOne`, the default.
        case one
        /// A number of items; the result is an array even for 1.
        case count(Int)
        /// `kSecMatchLimitAll`.
        case all
    }

    /// What is returned of each item.
    public struct Returns: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt8
        /// Takes the bits as they are.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// `kSecReturnData`.
        public static let data = Returns(rawValue: 1)
        /// `kSecReturnAttributes`.
        public static let attributes = Returns(rawValue: 2)
        /// `kSecReturnRef`.
        public static let ref = Returns(rawValue: 4)
        /// `kSecReturnPersistentRef`.
        public static let persistentRef = Returns(rawValue: 8)
        /// Items that can never be opened again, because their enrolled set is gone, with the time at which it went.
        ///
        /// Without it they are as good as absent; Apple has no name for it.
        public static let invalidated = Returns(rawValue: 16)
        /// All that there are.
        public static let known: Returns = [.data, .attributes, .ref, .persistentRef, .invalidated]
    }

    /// What to do with items that need the user.
    public enum AuthenticationUI: UInt8, Sendable {
        /// `kSecUseAuthenticationUIAllow`: prompt.
        case allow = 0
        /// `kSecUseAuthenticationUIFail`: errSecInteractionNotAllowed.
        case fail = 1
        /// `kSecUseAuthenticationUISkip`: leave such items out (CopyMatching only).
        case skip = 2
    }

    /// The class; nil only with a persistent reference.
    public var itemClass: ItemClass?
    /// Attributes that must be equal.
    public var attributes: ItemAttributes
    /// How many may answer.
    public var limit: Limit
    /// What is returned.
    public var returns: Returns
    /// `kSecMatchItemList` or `kSecValuePersistentRef`: these items only; empty when not asked for.
    public var references: [PersistentReference]
    /// What to do when the user is needed.
    public var authenticationUI: AuthenticationUI

    /// Asks for the items of `itemClass` whose attributes are equal to `attributes`.
    public init(
        itemClass: ItemClass?,
        attributes: ItemAttributes = [:],
        limit: Limit = .one,
        returns: Returns = [],
        references: [PersistentReference] = [],
        authenticationUI: AuthenticationUI = .allow
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.limit = limit
        self.returns = returns
        self.references = references
        self.authenticationUI = authenticationUI
    }
}

/// Names one item for good (`kSecValuePersistentRef`): 16 random bytes.
public struct PersistentReference: Hashable, Sendable {
    /// The number of bytes in a reference.
    public static let octetCount = 16
    /// The reference's bytes.
    public let octets: [UInt8]

    /// Accepts exactly 16 bytes.
    public init?(octets: [UInt8]) {
        guard octets.count == Self.octetCount else { return nil }
        self.octets = octets
    }
}
