public import CoreFoundation

// The selection of items, and their number.
//
// String values as in Apple's published `SecItemConstants.c`. `nonisolated(unsafe)` because `NSString` is not
// Sendable; these never change.

/// For certificates only.
nonisolated(unsafe) public let kSecMatchPolicy: CFString = "m_Policy"
/// Searches only these items, given as persistent references.
nonisolated(unsafe) public let kSecMatchItemList: CFString = "m_ItemList"
/// Keychain files to search; there are none here.
nonisolated(unsafe) public let kSecMatchSearchList: CFString = "m_SearchList"
/// For certificates only.
nonisolated(unsafe) public let kSecMatchIssuers: CFString = "m_Issuers"
/// For certificates only.
nonisolated(unsafe) public let kSecMatchEmailAddressIfPresent: CFString = "m_EmailAddressIfPresent"
/// For certificates only.
nonisolated(unsafe) public let kSecMatchSubjectContains: CFString = "m_SubjectContains"
/// Matches internet passwords of this host and its subdomains.
nonisolated(unsafe) public let kSecMatchHostOrSubdomainOfHost: CFString = "m_HostOrSubdomainOfHost"
/// Whether text is compared without regard to case.
nonisolated(unsafe) public let kSecMatchCaseInsensitive: CFString = "m_CaseInsensitive"
/// For certificates only.
nonisolated(unsafe) public let kSecMatchTrustedOnly: CFString = "m_TrustedOnly"
/// For certificates only.
nonisolated(unsafe) public let kSecMatchValidOnDate: CFString = "m_ValidOnDate"
/// The maximum number of items returned: one of the `kSecMatchLimit…` values or a number.
nonisolated(unsafe) public let kSecMatchLimit: CFString = "m_Limit"
/// One item; the default.
nonisolated(unsafe) public let kSecMatchLimitOne: CFString = "m_LimitOne"
/// All items.
nonisolated(unsafe) public let kSecMatchLimitAll: CFString = "m_LimitAll"
