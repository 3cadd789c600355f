import KeychainModel

/// The parsed form of an algorithm's name.
enum KeyAlgorithm: Equatable, Sendable {
    /// The input of a signature.
    enum Input: Equatable, Sendable {
        /// Bytes whose length the padding or the curve limits.
        case octets
        /// A digest.
        case digest(KeyHash)
        /// A message, which is hashed here.
        case message(KeyHash)

        var hash: KeyHash? {
            switch self {
            case .octets: nil
            case .digest(let hash), .message(let hash): hash
            }
        }
    }

    /// RSA signatures.
    case rsaSignature(RSASignaturePadding, Input)
    /// ECDSA; the form of the signature.
    case ecdsa(ECDSAForm, Input)
    /// RSA encryption.
    case rsaEncryption(RSAEncryptionPadding)
    /// AES-GCM with a key that is encrypted with RSA.
    case rsaHybrid(KeyHash)
    /// ECIES.
    case ecies(KeyHash, derivesIV: Bool)
    /// ECDH; nil for no key derivation.
    case ecdh(KeyHash?)

    /// Parses an algorithm; nil for an unknown name.
    init?(_ algorithm: SecKeyAlgorithm) {
        guard let known = Self.named[algorithm.rawValue as String] else { return nil }
        self = known
    }

    private static let named: [String: KeyAlgorithm] = {
        var named: [String: KeyAlgorithm] = [
            "algid:sign:RSA:raw": .rsaSignature(.raw, .octets),
            "algid:sign:RSA:digest-PKCS1v15": .rsaSignature(.pkcs1, .octets),
            "algid:sign:ECDSA:digest-X962": .ecdsa(.x962, .octets),
            "algid:sign:ECDSA:digest-RFC4754": .ecdsa(.rfc4754, .octets),
            "algid:sign:ECDSA:RFC4754": .ecdsa(.rfc4754, .octets),
            "algid:encrypt:RSA:raw": .rsaEncryption(.raw),
            "algid:encrypt:RSA:PKCS1": .rsaEncryption(.pkcs1),
            "algid:keyexchange:ECDH": .ecdh(nil),
            "algid:keyexchange:ECDHC": .ecdh(nil),
        ]
        for hash in KeyHash.allCases {
            let name = hash.rawValue
            // Apple's name says 24 although the salt has 28 bytes.
            let salt = hash == .sha224 ? 24 : hash.byteCount
            for (kind, input) in [("digest", Input.digest(hash)), ("message", .message(hash))] {
                named["algid:sign:RSA:\(kind)-PKCS1v15:\(name)"] = .rsaSignature(.pkcs1, input)
                named["algid:sign:RSA:\(kind)-PSS:\(name):\(name):\(salt)"] = .rsaSignature(.pss(hash), input)
                named["algid:sign:ECDSA:\(kind)-X962:\(name)"] = .ecdsa(.x962, input)
                named["algid:sign:ECDSA:\(kind)-RFC4754:\(name)"] = .ecdsa(.rfc4754, input)
            }
            named["algid:encrypt:RSA:OAEP:\(name)"] = .rsaEncryption(.oaep(hash))
            named["algid:encrypt:RSA:OAEP:\(name):AESGCM"] = .rsaHybrid(hash)
            for exchange in ["ECDH", "ECDHC"] {
                let ecies = "algid:encrypt:ECIES:\(exchange):KDFX963:\(name):AESGCM"
                named[ecies] = .ecies(hash, derivesIV: false)
                if hash != .sha1 { named["\(ecies)-KDFIV"] = .ecies(hash, derivesIV: true) }
                named["algid:keyexchange:\(exchange):KDFX963:\(name)"] = .ecdh(hash)
            }
        }
        return named
    }()

    /// Whether a key supports this algorithm for `operation`.
    func isSupported(by key: KeyMaterial, for operation: SecKeyOperationType) -> Bool {
        let isForPrivateKeys = operation != .verify && operation != .encrypt
        guard isForPrivateKeys == key.isPrivate, isAvailable else { return false }
        switch (self, operation, key.type) {
        case (.rsaSignature(let padding, let input), .sign, .rsa),
            (.rsaSignature(let padding, let input), .verify, .rsa):
            return padding.fits(input.hash, blockByteCount: key.blockByteCount)
        case (.rsaEncryption(let padding), .encrypt, .rsa), (.rsaEncryption(let padding), .decrypt, .rsa):
            return padding.fits(blockByteCount: key.blockByteCount)
        case (.rsaHybrid(let hash), .encrypt, .rsa), (.rsaHybrid(let hash), .decrypt, .rsa):
            let room = RSAEncryptionPadding.oaep(hash).room(blockByteCount: key.blockByteCount)
            return room >= RSAHybrid.keyByteCount(sizeInBits: key.sizeInBits)
        case (.ecdsa(_, let input), .sign, .ec): return key.canSign(input)
        case (.ecdsa, .verify, .ec), (.ecies, .encrypt, .ec), (.ecies, .decrypt, .ec),
            (.ecdh, .keyExchange, .ec):
            return true
        default: return false
        }
    }

    /// Whether the algorithm's hash function is implemented here.
    private var isAvailable: Bool {
        switch self {
        case .rsaSignature(.pss(let hash), _), .rsaSignature(_, .message(let hash)),
            .ecdsa(_, .message(let hash)), .rsaEncryption(.oaep(let hash)), .rsaHybrid(let hash),
            .ecies(let hash, _), .ecdh(let hash?):
            hash.isAvailable
        case .rsaSignature, .ecdsa, .rsaEncryption, .ecdh: true
        }
    }
}

extension KeyMaterial {
    /// The size of an RSA block or of a coordinate, in bytes.
    var blockByteCount: Int { (sizeInBits + 7) / 8 }

    fileprivate func canSign(_ input: KeyAlgorithm.Input) -> Bool {
        guard case .ecPrivate(let key) = self, let hash = input.hash else { return isPrivate }
        return key.canSign(digestByteCount: hash.byteCount)
    }
}
