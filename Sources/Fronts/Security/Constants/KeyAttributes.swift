public import CoreFoundation

// Attributes of keys and certificates.
//
// String values as in Apple's published `SecItemConstants.c`. `nonisolated(unsafe)` because `NSString` is not
// Sendable; these never change.

/// The subject of a certificate.
nonisolated(unsafe) public let kSecAttrSubject: CFString = "subj"
/// The issuer of a certificate.
nonisolated(unsafe) public let kSecAttrIssuer: CFString = "issr"
/// The serial number of a certificate.
nonisolated(unsafe) public let kSecAttrSerialNumber: CFString = "slnr"
/// The subject key identifier of a certificate.
nonisolated(unsafe) public let kSecAttrSubjectKeyID: CFString = "skid"
/// The hash of a certificate's public key.
nonisolated(unsafe) public let kSecAttrPublicKeyHash: CFString = "pkhh"
/// The type of a certificate.
nonisolated(unsafe) public let kSecAttrCertificateType: CFString = "ctyp"
/// The encoding of a certificate.
nonisolated(unsafe) public let kSecAttrCertificateEncoding: CFString = "cenc"
/// The key class, public, private or symmetric: one of the `kSecAttrKeyClass…` values.
nonisolated(unsafe) public let kSecAttrKeyClass: CFString = "kcls"
/// The SHA-1 of the public key.
nonisolated(unsafe) public let kSecAttrApplicationLabel: CFString = "klbl"
/// Whether a new key is stored in the keychain.
nonisolated(unsafe) public let kSecAttrIsPermanent: CFString = "perm"
/// Whether the key can be exported only in wrapped form.
nonisolated(unsafe) public let kSecAttrIsSensitive: CFString = "sens"
/// Whether the key can be exported.
nonisolated(unsafe) public let kSecAttrIsExtractable: CFString = "extr"
/// An application-defined tag of a key, bytes.
nonisolated(unsafe) public let kSecAttrApplicationTag: CFString = "atag"
/// The type of a key: one of the `kSecAttrKeyType…` values.
nonisolated(unsafe) public let kSecAttrKeyType: CFString = "type"
/// The size of a key in bits.
nonisolated(unsafe) public let kSecAttrKeySizeInBits: CFString = "bsiz"
/// The effective size of a key in bits.
nonisolated(unsafe) public let kSecAttrEffectiveKeySize: CFString = "esiz"
/// Whether the key can encrypt.
nonisolated(unsafe) public let kSecAttrCanEncrypt: CFString = "encr"
/// Whether the key can decrypt.
nonisolated(unsafe) public let kSecAttrCanDecrypt: CFString = "decr"
/// Whether the key can derive other keys.
nonisolated(unsafe) public let kSecAttrCanDerive: CFString = "drve"
/// Whether the key can sign.
nonisolated(unsafe) public let kSecAttrCanSign: CFString = "sign"
/// Whether the key can verify signatures.
nonisolated(unsafe) public let kSecAttrCanVerify: CFString = "vrfy"
/// Whether the key can wrap other keys.
nonisolated(unsafe) public let kSecAttrCanWrap: CFString = "wrap"
/// Whether the key can unwrap other keys.
nonisolated(unsafe) public let kSecAttrCanUnwrap: CFString = "unwp"
/// The hardware token that holds the item.
nonisolated(unsafe) public let kSecAttrTokenID: CFString = "tkid"
/// The class of public keys.
nonisolated(unsafe) public let kSecAttrKeyClassPublic: CFString = "0"
/// The class of private keys.
nonisolated(unsafe) public let kSecAttrKeyClassPrivate: CFString = "1"
/// The class of symmetric keys.
nonisolated(unsafe) public let kSecAttrKeyClassSymmetric: CFString = "2"
/// The key type RSA.
nonisolated(unsafe) public let kSecAttrKeyTypeRSA: CFString = "42"
/// The key type elliptic curve; the old name.
nonisolated(unsafe) public let kSecAttrKeyTypeEC: CFString = "73"
/// The key type elliptic curve over a prime field.
nonisolated(unsafe) public let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"
/// The token of this machine's hardware: its TPM.
nonisolated(unsafe) public let kSecAttrTokenIDSecureEnclave: CFString = "com.apple.setoken"
/// The access group of smart cards; there are none here.
nonisolated(unsafe) public let kSecAttrAccessGroupToken: CFString = "com.apple.token"
/// The attributes of a new private key.
nonisolated(unsafe) public let kSecPrivateKeyAttrs: CFString = "private"
/// The attributes of a new public key.
nonisolated(unsafe) public let kSecPublicKeyAttrs: CFString = "public"
