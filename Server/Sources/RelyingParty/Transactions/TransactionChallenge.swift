internal import Crypto
public import WebAuthnModel

/// A transaction that is confirmed by a passkey: its challenge is made of what is confirmed, so that the signature is
/// over the transaction itself, and can be shown to somebody else later.
///
/// `challenge = SHA-256(label ‖ 0x00 ‖ nonce ‖ SHA-256(JCS(details)))`. A client of one's own recomputes it from what it
/// shows; a browser needs to know nothing of it.
public enum TransactionChallenge {
    private static let label = Array("touchstone transaction 1".utf8)

    /// The challenge of a transaction.
    ///
    /// - Parameters:
    ///   - details: what is confirmed; amounts are strings.
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
