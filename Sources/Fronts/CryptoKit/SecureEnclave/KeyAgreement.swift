public import Crypto
public import Foundation
import KeychainModel
public import LocalAuthentication
import SecretMemory
public import Security

extension SecureEnclave.P256.KeyAgreement {
    /// A private key that agrees on secrets with ECDH over P-256.
    public struct PrivateKey: HPKEDiffieHellmanPrivateKey, Sendable {
        private let vaultKey: VaultKey<Crypto.P256.KeyAgreement.PublicKey>
        /// The public half, for others to agree with.
        public var publicKey: Crypto.P256.KeyAgreement.PublicKey { vaultKey.publicKey }

        /// Makes a key.
        ///
        /// - Parameters:
        ///   - compactRepresentable: whether the public key must have a compact representation.
        ///   - accessControl: what the use of the key demands; constraints want `.privateKeyUsage` beside them.
        ///   - authenticationContext: where the user shows it; nil for a fresh context at each use.
        /// - Throws: `LAError` where the user was needed, otherwise an `NSError` with an `OSStatus`.
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

        /// Makes a key whose use demands an unlocked keychain.
        ///
        /// - Throws: `LAError` where the user was needed, otherwise an `NSError` with an `OSStatus`.
        public init(compactRepresentable: Bool = true) throws {
            try self.init(compactRepresentable: compactRepresentable, accessControl: .ofUnlockedKeychain)
        }

        /// Takes a key that was made before by the same program on this machine.
        ///
        /// - Throws: an `NSError` with `errSecDecode` for anything else, and with `errSecItemNotFound` when the
        ///   enrolled fingers that it was bound to have changed.
        public init(dataRepresentation: Data, authenticationContext: LAContext? = nil) throws {
            vaultKey = try VaultKey(dataRepresentation: dataRepresentation, context: authenticationContext)
        }

        /// What brings the key back: sealed, so that it needs no hiding.
        public var dataRepresentation: Data { vaultKey.dataRepresentation }

        /// Touchstone's own, not Apple's: whether a TPM made the key and keeps it.
        public var isHardwareBacked: Bool { vaultKey.isHardwareBacked }

        /// Agrees on a secret with the owner of another key; the user is asked where the access control demands
        /// it.
        ///
        /// - Throws: `LAError` where the user was needed, otherwise an `NSError` with an `OSStatus`.
        public func sharedSecretFromKeyAgreement(
            with publicKeyShare: Crypto.P256.KeyAgreement.PublicKey
        ) throws -> SharedSecret {
            let peer = [UInt8](publicKeyShare.x963Representation)
            return try SharedSecret(x: try vaultKey.use(.agree(publicKey: peer)))
        }
    }
}

extension SharedSecret {
    /// The secret that the x coordinate of an agreed point is.
    ///
    /// swift-crypto makes secrets only by agreement, so we agree once more: with the scalar 1, whose product with
    /// a point is that point. Either of the two points with this x coordinate will do.
    ///
    /// - Throws: `CryptoKitError` for an x coordinate that no point of P-256 has.
    init(x: borrowing SecretBytes) throws {
        // SEC 1, 2.3.3: 2 stands for the point with the even y coordinate.
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

    /// The scalar 1.
    private static let one = Result {
        let scalar = [UInt8](repeating: 0, count: 31) + [1]
        return try Crypto.P256.KeyAgreement.PrivateKey(rawRepresentation: scalar)
    }
}
