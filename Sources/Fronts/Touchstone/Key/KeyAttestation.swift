public import Foundation

/// The hardware's statement about a key, for a server to verify; nothing in it is secret.
public struct KeyAttestation: Sendable, Hashable, Codable {
    /// The statement's format: `touchstone-tpm2`, the JSON of `touchstone attest`.
    public let format: String
    /// The statement, which contains the challenge.
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
