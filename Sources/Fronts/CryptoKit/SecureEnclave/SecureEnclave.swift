import KeychainClient
import KeychainModel
import Security

/// Private keys that never leave the daemon, which makes and uses them, in the TPM if there is one.
///
/// ```swift
/// let key = try SecureEnclave.P256.Signing.PrivateKey()
/// let signature = try key.signature(for: message)
/// store(key.dataRepresentation)  // worth nothing on another machine or in another app
/// ```
///
/// As on Apple's systems no item belongs to such a key, so that it cannot be deleted: it can be used as long as there is a
/// representation of it.
public enum SecureEnclave: Sendable {
    /// Whether keys can be made: the daemon answers and the keychain is set up.
    ///
    /// Without a TPM the daemon keeps the keys itself, sealed; a key's `isHardwareBacked` tells which. Blocks
    /// for one request to the daemon.
    public static var isAvailable: Bool {
        guard let status = try? KeychainConnection.current.status() else { return false }
        return status.keybag != .notSetUp && status.keybag != .damaged
    }

    /// Keys on the curve NIST P-256.
    public enum P256: Sendable {
        /// Keys for signatures.
        public enum Signing: Sendable {}
        /// Keys for key agreement.
        public enum KeyAgreement: Sendable {}
    }
}
