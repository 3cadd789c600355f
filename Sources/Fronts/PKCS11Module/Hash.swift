import CPKCS11
import Crypto

/// A digest in progress.
///
/// By swift-crypto, whose C library has symbols of its own prefix, none of which this library exports: the program's libcrypto is not
/// touched, and none is loaded into a program that has none.
enum Hash {
    case sha1(Insecure.SHA1)
    case sha256(SHA256)
    case sha384(SHA384)
    case sha512(SHA512)

    /// Begins the digest of a digest mechanism or of a signature's; nil for any other mechanism.
    init?(_ mechanism: CK_MECHANISM_TYPE) {
        switch mechanism {
        case CKM_SHA_1, CKM_ECDSA_SHA1: self = .sha1(Insecure.SHA1())
        case CKM_SHA256, CKM_ECDSA_SHA256: self = .sha256(SHA256())
        case CKM_SHA384, CKM_ECDSA_SHA384: self = .sha384(SHA384())
        case CKM_SHA512, CKM_ECDSA_SHA512: self = .sha512(SHA512())
        default: return nil
        }
    }

    /// The length of the digest, in bytes.
    var byteCount: Int {
        switch self {
        case .sha1: Insecure.SHA1.byteCount
        case .sha256: SHA256.byteCount
        case .sha384: SHA384.byteCount
        case .sha512: SHA512.byteCount
        }
    }

    /// Adds data.
    mutating func update(_ data: UnsafeRawBufferPointer) {
        switch self {
        case .sha1(var hash):
            unsafe hash.update(bufferPointer: data)
            self = .sha1(hash)
        case .sha256(var hash):
            unsafe hash.update(bufferPointer: data)
            self = .sha256(hash)
        case .sha384(var hash):
            unsafe hash.update(bufferPointer: data)
            self = .sha384(hash)
        case .sha512(var hash):
            unsafe hash.update(bufferPointer: data)
            self = .sha512(hash)
        }
    }

    /// The digest of the data so far.
    func finalize() -> [UInt8] {
        switch self {
        case .sha1(let hash): Array(hash.finalize())
        case .sha256(let hash): Array(hash.finalize())
        case .sha384(let hash): Array(hash.finalize())
        case .sha512(let hash): Array(hash.finalize())
        }
    }
}
