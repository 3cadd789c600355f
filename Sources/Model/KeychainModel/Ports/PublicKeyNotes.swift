/// The public keys that may be told before the first unlock, when the items that name them cannot be read.
///
/// They are public, and nothing is decided by them: a key is found by the sealed items when it is used.
public protocol PublicKeyNotes: Sendable {
    /// The keys, uncompressed X9.63; nil if none were written yet.
    func read() throws(KeychainError) -> [[UInt8]]?

    /// Replaces the keys.
    func write(_ keys: [[UInt8]]) throws(KeychainError)
}
