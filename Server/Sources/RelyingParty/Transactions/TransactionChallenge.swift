internal import Crypto
public import WebAuthnModel

/// The challenge of a transaction that a passkey confirms: it is derived from the details, so that the signature covers
/// the transaction itself, and can be shown to others later.
///
/// `challenge = SHA-256(label ‖ 0x00 ‖ nonce ‖ SHA-256(JCS(details)))`. Our own client recomputes it from the details
/// that it shows; a browser needs no support for it.
public enum TransactionChallenge {
    private static let label = Array("touchstone transaction 1".utf8)

    /// The challenge of a transaction.
    ///
    /// - Parameters:
    ///   - details: the details to confirm; amounts are strings.
    ///   - nonce: 32 random bytes.
    /// - Returns: 32 bytes.
    /// - Throws: ``CanonicalJSON/Unsupported`` for details with numbers that have a fraction.
    public static func challenge(
        details: JSONObject,
        nonce: [UInt8]
    ) throws(CanonicalJSON.Unsupported) -> [UInt8] {
        let digest = SHA256.hash(data: try CanonicalJSON.encode(.object(details)))
        return Array(SHA256.hash(data: label + [0] + nonce + Array(digest)))
    }
}
