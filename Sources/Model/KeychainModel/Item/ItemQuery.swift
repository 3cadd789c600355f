/// An item query: which items, how many, and what to return of each.
public struct ItemQuery: Sendable, Equatable {
    /// The most items to return.
    public enum Limit: Sendable, Equatable {
        /// `kSecMatchLimitOne`, the default.
        case one
        /// A number of items; the result is an array even for 1.
        case count(Int)
        /// `kSecMatchLimitAll`.
        case all
    }

    /// The parts of each item to return.
    public struct Returns: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt8
        /// Takes the bits as they are.
        @inlinable
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// `kSecReturnData`.
        @inlinable public static var data: Returns { Returns(rawValue: 1) }
        /// `kSecReturnAttributes`.
        @inlinable public static var attributes: Returns { Returns(rawValue: 2) }
        /// `kSecReturnRef`.
        @inlinable public static var ref: Returns { Returns(rawValue: 4) }
        /// `kSecReturnPersistentRef`.
        @inlinable public static var persistentRef: Returns { Returns(rawValue: 8) }
        /// Items that can never be opened again because their enrolled set changed, with the time of that change.
        ///
        /// Without it they count as absent; Apple has no name for it.
        @inlinable public static var invalidated: Returns { Returns(rawValue: 16) }
        /// All known bits.
        @inlinable public static var known: Returns {
            [.data, .attributes, .ref, .persistentRef, .invalidated]
        }
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
    /// The most items to return.
    public var limit: Limit
    /// The parts to return.
    public var returns: Returns
    /// `kSecMatchItemList` or `kSecValuePersistentRef`: these items only; empty if not given.
    public var references: [PersistentReference]
    /// What to do if the user is needed.
    public var authenticationUI: AuthenticationUI

    /// Queries the items of `itemClass` whose attributes equal `attributes`.
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

/// Identifies one item permanently (`kSecValuePersistentRef`): 16 random bytes.
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
