public import CoreFoundation

// Attributes of items.
//
// String values as in Apple's published `SecItemConstants.c`. `nonisolated(unsafe)` because `NSString` is not
// Sendable; these never change.

/// When the item can be read: one of the `kSecAttrAccessible…` values.
nonisolated(unsafe) public let kSecAttrAccessible: CFString = "pdmn"
/// What the user must show: a ``SecAccessControl``; not matched on in a search.
nonisolated(unsafe) public let kSecAttrAccessControl: CFString = "accc"
/// The group of programs that share the item.
nonisolated(unsafe) public let kSecAttrAccessGroup: CFString = "agrp"
/// Whether the item would be synchronised: stored and matched, never synchronised here.
nonisolated(unsafe) public let kSecAttrSynchronizable: CFString = "sync"
/// In a search: whatever ``kSecAttrSynchronizable`` is.
nonisolated(unsafe) public let kSecAttrSynchronizableAny: CFString = "syna"
/// When the item was made, `Date`.
nonisolated(unsafe) public let kSecAttrCreationDate: CFString = "cdat"
/// When the item was last changed, `Date`.
nonisolated(unsafe) public let kSecAttrModificationDate: CFString = "mdat"
/// What kind of item it is, in words.
nonisolated(unsafe) public let kSecAttrDescription: CFString = "desc"
/// A comment.
nonisolated(unsafe) public let kSecAttrComment: CFString = "icmt"
/// The creator's code, a number.
nonisolated(unsafe) public let kSecAttrCreator: CFString = "crtr"
/// The type's code, a number.
nonisolated(unsafe) public let kSecAttrType: CFString = "type"
/// What people see.
nonisolated(unsafe) public let kSecAttrLabel: CFString = "labl"
/// Whether the item is hidden from people.
nonisolated(unsafe) public let kSecAttrIsInvisible: CFString = "invi"
/// Whether the item stands for the absence of a password.
nonisolated(unsafe) public let kSecAttrIsNegative: CFString = "nega"
/// The account.
nonisolated(unsafe) public let kSecAttrAccount: CFString = "acct"
/// The service of a generic password.
nonisolated(unsafe) public let kSecAttrService: CFString = "svce"
/// Bytes of the app's own of a generic password.
nonisolated(unsafe) public let kSecAttrGeneric: CFString = "gena"
/// The security domain (realm) of an internet password.
nonisolated(unsafe) public let kSecAttrSecurityDomain: CFString = "sdmn"
/// The server.
nonisolated(unsafe) public let kSecAttrServer: CFString = "srvr"
/// The protocol: one of the `kSecAttrProtocol…` values.
nonisolated(unsafe) public let kSecAttrProtocol: CFString = "ptcl"
/// How to log in: one of the `kSecAttrAuthenticationType…` values.
nonisolated(unsafe) public let kSecAttrAuthenticationType: CFString = "atyp"
/// The port, a number.
nonisolated(unsafe) public let kSecAttrPort: CFString = "port"
/// The path on the server.
nonisolated(unsafe) public let kSecAttrPath: CFString = "path"
/// The view that the item would be synchronised in.
nonisolated(unsafe) public let kSecAttrSyncViewHint: CFString = "vwht"
/// The item's name for good, by its misspelt name.
nonisolated(unsafe) public let kSecAttrPersistantReference: CFString = "persistref"
/// The item's name for good.
nonisolated(unsafe) public let kSecAttrPersistentReference: CFString = "persistref"
