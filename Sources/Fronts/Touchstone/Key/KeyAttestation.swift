public import Foundation

/// What hardware says of where a key is, for a server to check; nothing in it is secret.
public struct KeyAttestation: Sendable, Hashable, Codable {
    /// The statement's form: `touchstone-tpm2`, the JSON of `touchstone attest`.
    public let format: String
    /// The statement, which carries the challenge.
    public let statement: Data
    /// Certificates of the chip's endorsement key, each in DER; empty where its maker gave it none.
    public let certificates: [Data]
}
