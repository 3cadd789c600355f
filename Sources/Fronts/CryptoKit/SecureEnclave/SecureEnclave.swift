import KeychainClient
import KeychainModel
import Security

/// Private keys that are used and never given out: the daemon makes them, in the TPM where there is one.
///
/// ```swift
/// let key = try SecureEnclave.P256.Signing.PrivateKey()
/// let signature = try key.signature(for: message)
/// store(key.dataRepresentation)  // worth nothing on another machine or in another app
/// ```
public enum SecureEnclave: Sendable {
    /// Whether keys can be made: the daemon answers and the keychain was set up.
    ///
    /// Without a TPM the daemon keeps the keys itself, sealed; `isHardwareBacked` of a key tells. Blocks for the
    /// time of a question to the daemon.
    public static var isAvailable: Bool {
        guard let status = try? KeychainConnection.current.status() else { return false }
        return status.keybag != .notSetUp && status.keybag != .damaged
    }

    /// Keys on the curve NIST P-256.
    public enum P256: Sendable {
        /// Keys that sign.
        public enum Signing: Sendable {}
        /// Keys that agree on a secret with others.
        public enum KeyAgreement: Sendable {}
    }
}
