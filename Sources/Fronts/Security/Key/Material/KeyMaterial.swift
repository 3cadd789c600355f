import KeychainModel

/// The underlying key of a `SecKey`.
package enum KeyMaterial: Sendable {
    /// An RSA public key.
    case rsaPublic(RSAPublicKey)
    /// An RSA private key, in this process.
    case rsaPrivate(RSAPrivateKey)
    /// A public key of an elliptic curve.
    case ecPublic(ECPublicKey)
    /// A private key of an elliptic curve, in this process or in the keychain's hardware.
    case ecPrivate(any ECPrivateKey)

    /// Parses an exported key.
    ///
    /// - Throws: `errSecParam` for an invalid key.
    init(type: KeyType, isPrivate: Bool, octets: [UInt8]) throws(KeychainError) {
        self =
            switch (type, isPrivate) {
            case (.rsa, false): .rsaPublic(try RSAPublicKey(pkcs1: octets))
            case (.rsa, true): .rsaPrivate(try RSAPrivateKey(pkcs1: octets))
            case (.ec, false): .ecPublic(try ECPublicKey(x963: octets))
            case (.ec, true): .ecPrivate(try SoftwareECPrivateKey(x963: octets))
            }
    }

    /// The type of key.
    var type: KeyType {
        switch self {
        case .rsaPublic, .rsaPrivate: .rsa
        case .ecPublic, .ecPrivate: .ec
        }
    }

    /// Whether it is a private key.
    var isPrivate: Bool {
        switch self {
        case .rsaPublic, .ecPublic: false
        case .rsaPrivate, .ecPrivate: true
        }
    }

    /// The public key, which may be the key itself.
    var publicMaterial: KeyMaterial {
        switch self {
        case .rsaPublic, .ecPublic: self
        case .rsaPrivate(let key): .rsaPublic(key.publicKey)
        case .ecPrivate(let key): .ecPublic(key.publicKey)
        }
    }

    /// The exported public key: PKCS #1 or X9.63.
    var publicOctets: [UInt8] {
        switch self {
        case .rsaPublic(let key): key.pkcs1
        case .rsaPrivate(let key): key.publicKey.pkcs1
        case .ecPublic(let key): key.x963
        case .ecPrivate(let key): key.publicKey.x963
        }
    }

    /// The size, in bits.
    var sizeInBits: Int {
        switch self {
        case .rsaPublic(let key): key.sizeInBits
        case .rsaPrivate(let key): key.publicKey.sizeInBits
        case .ecPublic(let key): key.curve.rawValue
        case .ecPrivate(let key): key.publicKey.curve.rawValue
        }
    }
}

/// The types of keys, with the values of `kSecAttrKeyType`.
enum KeyType: String, Sendable {
    /// `kSecAttrKeyTypeRSA`.
    case rsa = "42"
    /// `kSecAttrKeyTypeECSECPrimeRandom`, or its old name `kSecAttrKeyTypeEC`.
    case ec = "73"
}

extension KeychainError {
    /// An error of a key, with a description that contains no part of a key.
    static func key(_ status: Status, _ fault: String) -> KeychainError {
        KeychainError(status, cause: DriverCause(domain: "key", code: fault))
    }
}
