public import CoreFoundation

// Attributes of items.
//
// String values as in Apple's published `SecItemConstants.c`. `nonisolated(unsafe)` because `NSString` is not
// Sendable; these never change.

/// When the item is accessible: one of the `kSecAttrAccessible…` values.
nonisolated(unsafe) public let kSecAttrAccessible: CFString = "pdmn"
/// The item's ``SecAccessControl``; not compared in a search.
nonisolated(unsafe) public let kSecAttrAccessControl: CFString = "accc"
/// The access group of programs that share the item.
nonisolated(unsafe) public let kSecAttrAccessGroup: CFString = "agrp"
/// Whether the item is synchronizable: stored and compared, but items are never synchronised here.
nonisolated(unsafe) public let kSecAttrSynchronizable: CFString = "sync"
/// In a search: matches items with any value of ``kSecAttrSynchronizable``.
nonisolated(unsafe) public let kSecAttrSynchronizableAny: CFString = "syna"
/// The creation date, a `Date`.
nonisolated(unsafe) public let kSecAttrCreationDate: CFString = "cdat"
/// The date of the last change, a `Date`.
nonisolated(unsafe) public let kSecAttrModificationDate: CFString = "mdat"
/// A description of the kind of item, for users.
nonisolated(unsafe) public let kSecAttrDescription: CFString = "desc"
/// A comment.
nonisolated(unsafe) public let kSecAttrComment: CFString = "icmt"
/// The creator's code, a number.
nonisolated(unsafe) public let kSecAttrCreator: CFString = "crtr"
/// The type's code, a number.
nonisolated(unsafe) public let kSecAttrType: CFString = "type"
/// The item's label, for users.
nonisolated(unsafe) public let kSecAttrLabel: CFString = "labl"
/// Whether the item is hidden from users.
nonisolated(unsafe) public let kSecAttrIsInvisible: CFString = "invi"
/// Whether the item marks that there is no valid password.
nonisolated(unsafe) public let kSecAttrIsNegative: CFString = "nega"
/// The account.
nonisolated(unsafe) public let kSecAttrAccount: CFString = "acct"
/// The service of a generic password.
nonisolated(unsafe) public let kSecAttrService: CFString = "svce"
/// Application-defined bytes of a generic password.
nonisolated(unsafe) public let kSecAttrGeneric: CFString = "gena"
/// The security domain (realm) of an internet password.
nonisolated(unsafe) public let kSecAttrSecurityDomain: CFString = "sdmn"
/// The server.
nonisolated(unsafe) public let kSecAttrServer: CFString = "srvr"
/// The protocol: one of the `kSecAttrProtocol…` values.
nonisolated(unsafe) public let kSecAttrProtocol: CFString = "ptcl"
/// The authentication scheme: one of the `kSecAttrAuthenticationType…` values.
nonisolated(unsafe) public let kSecAttrAuthenticationType: CFString = "atyp"
/// The port, a number.
nonisolated(unsafe) public let kSecAttrPort: CFString = "port"
/// The path on the server.
nonisolated(unsafe) public let kSecAttrPath: CFString = "path"
/// The synchronisation view of the item.
nonisolated(unsafe) public let kSecAttrSyncViewHint: CFString = "vwht"
/// The item's persistent reference; a misspelt name of the same key.
nonisolated(unsafe) public let kSecAttrPersistantReference: CFString = "persistref"
/// The item's persistent reference.
nonisolated(unsafe) public let kSecAttrPersistentReference: CFString = "persistref"
