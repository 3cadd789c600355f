public import CoreFoundation
public import Foundation
import KeychainModel

// Names that libraries mention: the keychain stores no certificates, so that there are no identities, and certificates are
// verified by the app's own library, so that there is no trust. No function returns a value of these types.

/// A certificate with its private key: none exists here.
public final class SecIdentity: NSObject, CoreFoundationType, Sendable {
    private override init() {}

    /// `SecIdentityGetTypeID`.
    public static var coreFoundationTypeID: CFTypeID { SecIdentityGetTypeID() }
}

/// The verification of a certificate chain: none exists here.
public final class SecTrust: NSObject, CoreFoundationType, Sendable {
    private override init() {}

    /// `SecTrustGetTypeID`.
    public static var coreFoundationTypeID: CFTypeID { SecTrustGetTypeID() }
}

/// `SecIdentityGetTypeID`: a number that no type of Core Foundation itself has.
public func SecIdentityGetTypeID() -> CFTypeID { 0x104 }

/// `SecTrustGetTypeID`: a number that no type of Core Foundation itself has.
public func SecTrustGetTypeID() -> CFTypeID { 0x105 }

/// `SecPKCS12Import`: not supported, because identities are not.
///
/// Reads nothing and leaves `items` unchanged.
///
/// - Returns: `errSecUnimplemented`, whatever the data are.
@discardableResult
public func SecPKCS12Import(
    _ pkcs12_data: CFData,
    _ options: CFDictionary,
    _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    keychainStatus { () throws(KeychainError) in throw .unimplemented("SecPKCS12Import") }
}

/// The passphrase of PKCS #12 data.
nonisolated(unsafe) public let kSecImportExportPassphrase: CFString = "passphrase"
/// The label of an imported item.
nonisolated(unsafe) public let kSecImportItemLabel: CFString = "label"
/// The key identifier of an imported item.
nonisolated(unsafe) public let kSecImportItemKeyID: CFString = "keyid"
/// The trust of an imported item.
nonisolated(unsafe) public let kSecImportItemTrust: CFString = "trust"
/// The certificate chain of an imported item.
nonisolated(unsafe) public let kSecImportItemCertChain: CFString = "chain"
/// The identity of an imported item.
nonisolated(unsafe) public let kSecImportItemIdentity: CFString = "identity"
