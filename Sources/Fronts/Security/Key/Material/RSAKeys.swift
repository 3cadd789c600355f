import Crypto
import CryptoExtras
import Foundation
import KeychainModel
import ModularArithmetic

/// An RSA public key.
package struct RSAPublicKey: Sendable, Hashable {
    /// The minimum accepted size in bits, for the verification of old data.
    static let smallestSizeInBits = 1024
    /// The maximum accepted size in bits.
    static let largestSizeInBits = 8192

    /// RFC 8017, A.1.1, DER.
    package let pkcs1: [UInt8]
    private let modulus: MontgomeryModulus
    private let exponent: [UInt8]

    /// The size, in bits.
    let sizeInBits: Int
    /// The size of a block, in bytes.
    var blockByteCount: Int { (sizeInBits + 7) / 8 }

    /// Parses an exported key: PKCS #1, or X.509's `SubjectPublicKeyInfo`.
    ///
    /// - Throws: `errSecParam` for an invalid key.
    init(pkcs1 octets: [UInt8]) throws(KeychainError) {
        do {
            guard octets.count <= Self.largestSizeInBits / 4 else { throw KeychainError.notAKey }
            let key = try _RSA.Signing.PublicKey(unsafeDERRepresentation: octets)
            // The library ignores trailing bytes, so compare with its own encoding.
            guard octets == [UInt8](key.pkcs1DERRepresentation) || octets == [UInt8](key.derRepresentation)
            else { throw KeychainError.notAKey }
            let primitives = try key.getKeyPrimitives()
            guard Self.smallestSizeInBits...Self.largestSizeInBits ~= key.keySizeInBits,
                primitives.publicExponent.count <= 8
            else { throw KeychainError.notAKey }
            pkcs1 = [UInt8](key.pkcs1DERRepresentation)
            guard let modulus = MontgomeryModulus([UInt8](primitives.modulus)) else {
                throw KeychainError.notAKey
            }
            self.modulus = modulus
            exponent = [UInt8](primitives.publicExponent)
            sizeInBits = key.keySizeInBits
        } catch {
            throw .notAKey
        }
    }

    /// RSAEP and RSAVP1 of RFC 8017: raises the block to the public exponent.
    ///
    /// - Throws: `errSecParam` for a block that is not less than the modulus.
    func raise(_ block: [UInt8]) throws(KeychainError) -> [UInt8] {
        guard block.count == blockByteCount,
            let result = modulus.raise(block, to: exponent)
        else { throw .key(.param, "RSA wrong input data length") }
        return result
    }
}

/// An RSA private key, in this process.
package struct RSAPrivateKey: Sendable {
    // The only key type of the library with an RSA operation without padding.
    private let key: _RSA.BlindSigning.PrivateKey<SHA384>
    /// The public key.
    package let publicKey: RSAPublicKey

    /// Makes a key of 2048 to 4096 bits.
    ///
    /// - Throws: `errSecKeySizeNotAllowed` for another size, and for one that is not a multiple of 128.
    init(sizeInBits: Int) throws(KeychainError) {
        guard 2048...4096 ~= sizeInBits, sizeInBits.isMultiple(of: 128) else {
            throw .key(.keySizeNotAllowed, "RSA key size")
        }
        do {
            try self.init(_RSA.BlindSigning.PrivateKey(keySize: .init(bitCount: sizeInBits)))
        } catch {
            throw .key(.internalComponent, "RSA key generation failed")
        }
    }

    /// Parses an exported key: PKCS #1.
    ///
    /// - Throws: `errSecParam` for an invalid key.
    init(pkcs1 octets: [UInt8]) throws(KeychainError) {
        do {
            guard octets.count <= RSAPublicKey.largestSizeInBits else { throw KeychainError.notAKey }
            try self.init(_RSA.BlindSigning.PrivateKey(unsafeDERRepresentation: octets))
            guard octets == [UInt8](key.derRepresentation) else { throw KeychainError.notAKey }
        } catch {
            throw .notAKey
        }
    }

    private init(_ key: _RSA.BlindSigning.PrivateKey<SHA384>) throws {
        self.key = key
        publicKey = try RSAPublicKey(pkcs1: [UInt8](key.publicKey.pkcs1DERRepresentation))
    }

    /// The exported key: RFC 8017, A.1.2, DER.
    var pkcs1: Data { key.derRepresentation }

    /// RSADP and RSASP1 of RFC 8017: raises the block to the private exponent.
    ///
    /// - Throws: `errSecParam` for a block that is not less than the modulus.
    func raise(_ block: [UInt8]) throws(KeychainError) -> [UInt8] {
        do {
            return [UInt8](try key.blindSignature(for: block).rawRepresentation)
        } catch {
            throw .key(.param, "RSA wrong input data length")
        }
    }
}
