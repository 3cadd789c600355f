import CPKCS11
import Crypto
import KeychainModel
import SecretMemory

/// An object that a handle stands for.
struct StoredObject: Sendable {
    enum Kind: Sendable {
        case privateKey(NamedKey)
        case publicKey(NamedKey)
        case secret(SessionSecret)
    }

    /// What an object says of an attribute.
    enum Answer {
        case value([UInt8])
        /// A value that is copied from its own memory only.
        case secret(SessionSecret)
        case sensitive
        case unknown
    }

    let kind: Kind
    /// The session that it belongs to; nil for an object of the token.
    let session: CK_SESSION_HANDLE?

    /// The key of a private key; nil for other objects.
    var privateKey: NamedKey? {
        if case .privateKey(let key) = kind { key } else { nil }
    }

    /// What the object says of an attribute (PKCS #11 2.40, sections 4.2 to 4.10, and 2.3.3 of the mechanisms).
    func attribute(_ type: CK_ATTRIBUTE_TYPE) -> Answer {
        switch type {
        case CKA_TOKEN: return .value(Self.flag(session == nil))
        case CKA_PRIVATE, CKA_MODIFIABLE, CKA_COPYABLE: return .value(Self.flag(false))
        case CKA_DESTROYABLE: return .value(Self.flag(session != nil))
        default: break
        }
        switch kind {
        case .privateKey(let key): return Self.ofPrivate(key, type)
        case .publicKey(let key): return Self.ofPublic(key, type)
        case .secret(let secret): return secret.attribute(type)
        }
    }

    /// Whether the object has all these values.
    func matches(_ template: Template) -> Bool {
        template.entries.allSatisfy { entry in
            switch attribute(entry.type) {
            case .value(let value): value == entry.value
            case .secret, .sensitive, .unknown: false
            }
        }
    }

    private static func ofPrivate(_ key: NamedKey, _ type: CK_ATTRIBUTE_TYPE) -> Answer {
        switch type {
        case CKA_CLASS: .value(number(CKO_PRIVATE_KEY))
        case CKA_SENSITIVE, CKA_ALWAYS_SENSITIVE, CKA_NEVER_EXTRACTABLE, CKA_SIGN: .value(flag(true))
        // ALWAYS_AUTHENTICATE is false although each use may ask: programs would ask for a PIN.
        case CKA_EXTRACTABLE, CKA_ALWAYS_AUTHENTICATE, CKA_DECRYPT, CKA_SIGN_RECOVER, CKA_UNWRAP,
            CKA_WRAP_WITH_TRUSTED:
            .value(flag(false))
        case CKA_VALUE: .sensitive
        default: ofKey(key, type)
        }
    }

    private static func ofPublic(_ key: NamedKey, _ type: CK_ATTRIBUTE_TYPE) -> Answer {
        switch type {
        case CKA_CLASS: .value(number(CKO_PUBLIC_KEY))
        case CKA_VERIFY: .value(flag(true))
        case CKA_ENCRYPT, CKA_VERIFY_RECOVER, CKA_WRAP, CKA_TRUSTED: .value(flag(false))
        default: ofKey(key, type)
        }
    }

    /// What both keys of a pair say.
    private static func ofKey(_ key: NamedKey, _ type: CK_ATTRIBUTE_TYPE) -> Answer {
        switch type {
        case CKA_KEY_TYPE: .value(number(CKK_EC))
        case CKA_LABEL: .value(Array(key.name.utf8))
        case CKA_ID: .value(identifier(of: key))
        case CKA_SUBJECT, CKA_START_DATE, CKA_END_DATE: .value([])
        case CKA_LOCAL, CKA_DERIVE: .value(flag(true))
        case CKA_KEY_GEN_MECHANISM: .value(number(CKM_ECDSA_KEY_PAIR_GEN))
        case CKA_EC_PARAMS: .value(ECPoint.curve)
        case CKA_EC_POINT: .value(ECPoint.encoded(key.publicKey))
        case CKA_PUBLIC_KEY_INFO: .value(ECPoint.publicKeyInfo(key.publicKey))
        default: .unknown
        }
    }

    /// The first 20 bytes of the SHA-1 of the point: the same for every program, and after a renaming.
    static func identifier(of key: NamedKey) -> [UInt8] { Array(Insecure.SHA1.hash(data: key.publicKey)) }

    static func flag(_ value: Bool) -> [UInt8] { [value ? UInt8(CK_TRUE) : UInt8(CK_FALSE)] }

    static func number(_ value: CK_ULONG) -> [UInt8] {
        unsafe withUnsafeBytes(of: value) { unsafe Array($0) }
    }
}

/// The DER forms of P-256 (RFC 5480).
enum ECPoint {
    /// The curve's name, `prime256v1`, as `ECParameters`.
    static let curve: [UInt8] = [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
    private static let publicKeyName: [UInt8] = [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    private static let octetString: UInt8 = 0x04
    private static let bitString: UInt8 = 0x03
    private static let sequence: UInt8 = 0x30

    /// A point in X9.63, 65 bytes, as an OCTET STRING.
    static func encoded(_ point: [UInt8]) -> [UInt8] { element(octetString, point) }

    /// The `SubjectPublicKeyInfo` of a point in X9.63.
    static func publicKeyInfo(_ point: [UInt8]) -> [UInt8] {
        element(sequence, element(sequence, publicKeyName + curve) + element(bitString, [0] + point))
    }

    /// The point, in X9.63, that a program gives in this form or in the encoded one; nil for none on the curve.
    static func decoded(_ octets: [UInt8]) -> [UInt8]? {
        let count = HardwareKey.publicKeyOctetCount
        let isEncoded = octets.count == count + 2 && octets.starts(with: [octetString, UInt8(count)])
        let point = isEncoded ? Array(octets[2...]) : octets
        guard point.count == count, (try? P256.KeyAgreement.PublicKey(x963Representation: point)) != nil
        else {
            return nil
        }
        return point
    }

    /// An element shorter than 128 bytes.
    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag, UInt8(content.count)] + content
    }
}
