public import Crypto
public import Foundation
import KeychainModel
public import LocalAuthentication
import SecretMemory
public import Security

extension SecureEnclave.P256.KeyAgreement {
    /// A P-256 private key for key agreement (ECDH).
    public struct PrivateKey: HPKEDiffieHellmanPrivateKey, Sendable {
        private let vaultKey: VaultKey<Crypto.P256.KeyAgreement.PublicKey>
        /// The public key.
        public var publicKey: Crypto.P256.KeyAgreement.PublicKey { vaultKey.publicKey }

        /// Makes a key.
        ///
        /// - Parameters:
        ///   - compactRepresentable: whether the public key must have a compact representation.
        ///   - accessControl: the access control for each use of the key; constraints need `.privateKeyUsage`
        ///     too.
        ///   - authenticationContext: the context in which the user authenticates; nil for a new context at
        ///     each use.
        /// - Throws: `LAError` if the user was needed, otherwise an `NSError` with an `OSStatus`.
        public init(
            compactRepresentable: Bool = true,
            accessControl: SecAccessControl,
            authenticationContext: LAContext? = nil
        ) throws {
            vaultKey = try VaultKey(
                compactRepresentable: compactRepresentable,
                accessControl: accessControl,
                context: authenticationContext
            )
        }

        /// Makes a key that can be used while the keychain is unlocked.
        ///
        /// - Throws: `LAError` if the user was needed, otherwise an `NSError` with an `OSStatus`.
        public init(compactRepresentable: Bool = true) throws {
            try self.init(compactRepresentable: compactRepresentable, accessControl: .ofUnlockedKeychain)
        }

        /// Restores a key that the same program made on this machine.
        ///
        /// - Throws: an `NSError` with `errSecDecode` for other data, and with `errSecItemNotFound` if the key
        ///   was invalidated by a change of the enrolled fingers.
        public init(dataRepresentation: Data, authenticationContext: LAContext? = nil) throws {
            vaultKey = try VaultKey(dataRepresentation: dataRepresentation, context: authenticationContext)
        }

        /// The sealed representation from which the key can be restored; it need not be kept secret.
        public var dataRepresentation: Data { vaultKey.dataRepresentation }

        /// Whether a TPM made and holds the key; an addition of Touchstone to Apple's API.
        public var isHardwareBacked: Bool { vaultKey.isHardwareBacked }

        /// Computes a secret shared with the owner of another key; asks the user if the access control requires
        /// it.
        ///
        /// - Throws: `LAError` if the user was needed, otherwise an `NSError` with an `OSStatus`.
        public func sharedSecretFromKeyAgreement(
            with publicKeyShare: Crypto.P256.KeyAgreement.PublicKey
        ) throws -> SharedSecret {
            let peer = [UInt8](publicKeyShare.x963Representation)
            return try SharedSecret(x: try vaultKey.use(.agree(publicKey: peer)))
        }
    }
}

extension SharedSecret {
    /// Makes a shared secret from the x coordinate of the agreed point.
    ///
    /// swift-crypto makes shared secrets only by key agreement, so this makes another one, with the private key
    /// 1: its product with a point is that point. Either of the two points with this x coordinate gives the same
    /// secret.
    ///
    /// - Throws: `CryptoKitError` for an x coordinate without a point on P-256.
    init(x: borrowing SecretBytes) throws {
        // SEC 1, 2.3.3: 2 is the prefix of the point with the even y coordinate.
        let compressed = try SecretBytes(lockedCount: 1 + x.count) { octets in
            octets[0] = 2
            x.withOctets { x in
                for index in x.indices { octets[1 + index] = x[index] }
            }
        }
        let point = try compressed.withUnsafeBytes { octets in
            try Crypto.P256.KeyAgreement.PublicKey(compressedRepresentation: octets)
        }
        self = try Self.one.get().sharedSecretFromKeyAgreement(with: point)
    }

    /// The private key 1.
    private static let one = Result {
        let scalar = [UInt8](repeating: 0, count: 31) + [1]
        return try Crypto.P256.KeyAgreement.PrivateKey(rawRepresentation: scalar)
    }
}
