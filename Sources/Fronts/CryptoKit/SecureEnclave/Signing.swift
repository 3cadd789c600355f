public import Crypto
public import Foundation
import KeychainModel
public import LocalAuthentication
import SecretMemory
public import Security

extension SecureEnclave.P256.Signing {
    /// A P-256 private key for signatures (ECDSA).
    public struct PrivateKey: Sendable {
        private let vaultKey: VaultKey<Crypto.P256.Signing.PublicKey>
        /// The public key.
        public var publicKey: Crypto.P256.Signing.PublicKey { vaultKey.publicKey }

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

        /// Signs a digest; asks the user if the access control requires it.
        ///
        /// - Throws: `LAError` if the user was needed, otherwise an `NSError` with an `OSStatus`;
        ///   `CryptoKitError` for a digest of an unsupported length.
        public func signature<D: Digest>(for digest: D) throws -> Crypto.P256.Signing.ECDSASignature {
            guard [20, 32, 48, 64].contains(D.byteCount) else { throw CryptoKitError.incorrectParameterSize }
            let octets = try vaultKey.use(.sign(digest: Array(digest)))
            return try octets.withUnsafeBytes { octets in
                try Crypto.P256.Signing.ECDSASignature(rawRepresentation: octets)
            }
        }

        /// Signs the SHA-256 of data; asks the user if the access control requires it.
        ///
        /// - Throws: `LAError` if the user was needed, otherwise an `NSError` with an `OSStatus`.
        public func signature<D: DataProtocol>(for data: D) throws -> Crypto.P256.Signing.ECDSASignature {
            try signature(for: SHA256.hash(data: data))
        }
    }
}
