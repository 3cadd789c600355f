public import CoreFoundation
import Crypto
public import Foundation
package import KeychainModel

/// A key: public or private, in this process or in the keychain's hardware.
public final class SecKey: NSObject, CoreFoundationType, @unchecked Sendable {  // immutable
    /// The underlying key.
    package let material: KeyMaterial
    /// The item that holds the key; nil if it is not in the keychain, or not known to be.
    package let item: PersistentReference?

    package init(_ material: KeyMaterial, item: PersistentReference? = nil) {
        self.material = material
        self.item = item
        super.init()
    }

    /// `SecKeyGetTypeID`.
    public static var coreFoundationTypeID: CFTypeID { SecKeyGetTypeID() }

    /// Compares the public parts, and whether both are private or both are public.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = (object as? SecKey)?.material else { return false }
        return material.isPrivate == other.isPrivate && material.publicOctets == other.publicOctets
    }

    /// A hash consistent with `isEqual(_:)`.
    public override var hash: Int { material.publicOctets.hashValue }

    /// The type and size of the key, for debugging; nothing of the key itself.
    public override var description: String {
        let kind = material.type == .rsa ? "RSA" : "ECSECPrimeRandom"
        let half = material.isPrivate ? "private" : "public"
        let place = material.token == nil ? "" : ", \(SecKey.tokenID)"
        return "<SecKeyRef: \(kind), \(half), \(material.sizeInBits) bits\(place)>"
    }

    /// The value of `kSecAttrTokenIDSecureEnclave`.
    static let tokenID = "com.apple.setoken"
}

/// `SecKeyGetTypeID`: a number that no type of Core Foundation itself has.
public func SecKeyGetTypeID() -> CFTypeID { 0x102 }

/// `SecKeyCopyPublicKey`: the public key of a private key, or a public key itself; shows no prompt.
public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? {
    key.material.isPrivate ? SecKey(key.material.publicMaterial) : key
}

/// `SecKeyGetBlockSize`: the length in bytes of an RSA block, or of an elliptic curve's coordinate.
public func SecKeyGetBlockSize(_ key: SecKey) -> Int { key.material.blockByteCount }

/// `SecKeyCopyAttributes`: the attributes of a key, by the `kSecAttr…` constants; never the key itself.
public func SecKeyCopyAttributes(_ key: SecKey) -> CFDictionary? {
    var dictionary: [String: Any] = ["class": ItemClass.key.rawValue]
    for (name, value) in key.material.attributes { dictionary[name.rawValue] = value.object }
    dictionary[AttributeKey.isPermanent.rawValue] = NSNumber(value: key.item != nil)
    if let token = key.material.token {
        dictionary["accc"] = SecAccessControl(token.key.accessControl)
    }
    return dictionary as NSDictionary
}

extension KeyMaterial {
    /// The key in the keychain's hardware; nil for other keys.
    package var token: TokenKey? {
        if case .ecPrivate(let key) = self { key as? TokenKey } else { nil }
    }

    /// The key's own attributes: those of its item's primary key that the app does not add, and its
    /// capabilities (`SecKey.m`).
    var attributes: ItemAttributes {
        let size = AttributeValue.integer(Int64(sizeInBits))
        var attributes: ItemAttributes = [
            .keyClass: .string(isPrivate ? "1" : "0"), .type: .string(type.rawValue),
            .keySizeInBits: size, .effectiveKeySize: size,
            .applicationLabel: .data(Array(Insecure.SHA1.hash(data: publicOctets))),
            .isSensitive: .boolean(token != nil), .isExtractable: .boolean(token == nil),
        ]
        for use in [AttributeKey.canEncrypt, .canVerify, .canWrap] { attributes[use] = .boolean(!isPrivate) }
        for use in [AttributeKey.canDecrypt, .canSign, .canUnwrap] { attributes[use] = .boolean(isPrivate) }
        attributes[.canDerive] = .boolean(type == .ec)
        if token != nil { attributes[.tokenID] = .string(SecKey.tokenID) }
        return attributes
    }
}

extension AttributeKey {
    static let keyClass = AttributeKey(rawValue: "kcls")
    static let applicationTag = AttributeKey(rawValue: "atag")
    static let keySizeInBits = AttributeKey(rawValue: "bsiz")
    static let effectiveKeySize = AttributeKey(rawValue: "esiz")
    static let isPermanent = AttributeKey(rawValue: "perm")
    static let isSensitive = AttributeKey(rawValue: "sens")
    static let isExtractable = AttributeKey(rawValue: "extr")
    /// The access control for the use of a hardware key, whose item requires less; not one of Apple's, and
    /// not returned to apps.
    static let keyAccessControl = AttributeKey(rawValue: "kacc")
    static let canEncrypt = AttributeKey(rawValue: "encr")
    static let canDecrypt = AttributeKey(rawValue: "decr")
    static let canDerive = AttributeKey(rawValue: "drve")
    static let canSign = AttributeKey(rawValue: "sign")
    static let canVerify = AttributeKey(rawValue: "vrfy")
    static let canWrap = AttributeKey(rawValue: "wrap")
    static let canUnwrap = AttributeKey(rawValue: "unwp")
}
