public import Foundation

/// The hardware's statement about a key, for a server to verify; nothing in it is secret.
public struct KeyAttestation: Sendable, Hashable, Codable {
    /// The statement's format: `touchstone-tpm2-key`, the JSON of `touchstone attest`, whose qualifying data is a digest of the
    /// challenge, the key's purpose and its name.
    ///
    /// The digest is SHA-256 of `touchstone device key 1`, a zero byte, and the three, each after its number of bytes in two bytes.
    /// Attestations of earlier versions have the format `touchstone-tpm2`, and the challenge itself.
    public let format: String
    /// The statement, which contains the digest.
    public let statement: Data
    /// Certificates of the chip's endorsement key, each in DER; empty if its manufacturer provided none.
    public let certificates: [Data]

    /// The names in the stored JSON, whatever a property is called.
    enum CodingKeys: String, CodingKey, CaseIterable {
        case format = "format"
        case statement = "statement"
        case certificates = "certificates"
    }
}
