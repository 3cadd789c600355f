public import Crypto
public import Foundation
import KeychainModel
public import LocalAuthentication
import SecretMemory
public import Security

extension SecureEnclave.P256.Signing {
    /// A private key that signs with ECDSA over P-256.
    public struct PrivateKey: Sendable {
        private let vaultKey: VaultKey<Crypto.P256.Signing.PublicKey>
        /// The public half, for others to verify with.
        public var publicKey: Crypto.P256.Signing.PublicKey { vaultKey.publicKey }

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

        /// Signs a digest; the user is asked where the access control demands it.
        ///
        /// - Throws: `LAError` where the user was needed, otherwise an `NSError` with an `OSStatus`;
        ///   `CryptoKitError` for a digest of a length that ECDSA is not used with here.
        public func signature<D: Digest>(for digest: D) throws -> Crypto.P256.Signing.ECDSASignature {
            guard [20, 32, 48, 64].contains(D.byteCount) else { throw CryptoKitError.incorrectParameterSize }
            let octets = try vaultKey.use(.sign(digest: Array(digest)))
            return try octets.withUnsafeBytes { octets in
                try Crypto.P256.Signing.ECDSASignature(rawRepresentation: octets)
            }
        }

        /// Signs the SHA-256 of data; the user is asked where the access control demands it.
        ///
        /// - Throws: `LAError` where the user was needed, otherwise an `NSError` with an `OSStatus`.
        public func signature<D: DataProtocol>(for data: D) throws -> Crypto.P256.Signing.ECDSASignature {
            try signature(for: SHA256.hash(data: data))
        }
    }
}
