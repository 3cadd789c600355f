import CPKCS11
import SecretMemory

/// A secret that was agreed on, for the session that did; wiped with it.
final class SessionSecret: Sendable {
    let octets: SecretBytes
    private let keyType: CK_KEY_TYPE
    private let label: [UInt8]
    private let identifier: [UInt8]
    private let isReadable: Bool

    /// Takes over a secret with what a template says of it.
    init(_ octets: consuming SecretBytes, _ wish: SecretWish) {
        self.octets = octets
        keyType = wish.keyType
        label = wish.label
        identifier = wish.identifier
        isReadable = wish.isReadable
    }

    func attribute(_ type: CK_ATTRIBUTE_TYPE) -> StoredObject.Answer {
        switch type {
        case CKA_CLASS: .value(StoredObject.number(CKO_SECRET_KEY))
        case CKA_KEY_TYPE: .value(StoredObject.number(keyType))
        case CKA_LABEL: .value(label)
        case CKA_ID: .value(identifier)
        case CKA_VALUE: isReadable ? .secret(self) : .sensitive
        case CKA_VALUE_LEN: .value(StoredObject.number(CK_ULONG(octets.count)))
        case CKA_EXTRACTABLE: .value(StoredObject.flag(isReadable))
        case CKA_SENSITIVE: .value(StoredObject.flag(!isReadable))
        case CKA_KEY_GEN_MECHANISM: .value(StoredObject.number(CK_UNAVAILABLE))
        case CKA_ALWAYS_SENSITIVE, CKA_NEVER_EXTRACTABLE, CKA_LOCAL, CKA_ENCRYPT, CKA_DECRYPT, CKA_SIGN,
            CKA_VERIFY, CKA_WRAP,
            CKA_UNWRAP, CKA_DERIVE, CKA_WRAP_WITH_TRUSTED, CKA_TRUSTED:
            .value(StoredObject.flag(false))
        case CKA_START_DATE, CKA_END_DATE: .value([])
        default: .unknown
        }
    }
}

/// `CK_UNAVAILABLE_INFORMATION`, a macro that is not imported.
let CK_UNAVAILABLE = CK_ULONG.max

/// What a template of `C_DeriveKey` asks for.
struct SecretWish {
    /// The longest secret, in bytes: the x coordinate of the point agreed on.
    static let longest = 32

    private(set) var keyType = CK_KEY_TYPE(CKK_GENERIC_SECRET)
    private(set) var count = Self.longest
    private(set) var label: [UInt8] = []
    private(set) var identifier: [UInt8] = []
    private(set) var isReadable = true

    /// Reads a template.
    ///
    /// - Throws: `CKR_TEMPLATE_INCONSISTENT` for an object of the token or another class, `CKR_ATTRIBUTE_VALUE_INVALID`,
    ///   `CKR_ATTRIBUTE_READ_ONLY` for a value.
    init(_ template: Template) throws(ReturnValue) {
        for entry in template.entries {
            switch entry.type {
            case CKA_CLASS:
                guard try entry.number() == CKO_SECRET_KEY else { throw .templateInconsistent }
            case CKA_TOKEN:
                guard try !entry.flag() else { throw .templateInconsistent }
            case CKA_KEY_TYPE:
                keyType = try entry.number()
                guard [CKK_GENERIC_SECRET, CKK_AES].contains(keyType) else { throw .templateInconsistent }
            case CKA_VALUE_LEN:
                let wanted = try entry.number()
                guard (1...CK_ULONG(Self.longest)).contains(wanted) else { throw .attributeValueInvalid }
                count = Int(wanted)
            case CKA_LABEL: label = entry.value
            case CKA_ID: identifier = entry.value
            case CKA_SENSITIVE: if try entry.flag() { isReadable = false }
            case CKA_EXTRACTABLE: if try !entry.flag() { isReadable = false }
            case CKA_VALUE: throw ReturnValue(code: CKR_ATTRIBUTE_READ_ONLY)
            // What the secret may be used for: it is only read here.
            default: break
            }
        }
        guard keyType != CKK_AES || [16, 24, 32].contains(count) else { throw .templateInconsistent }
    }
}
