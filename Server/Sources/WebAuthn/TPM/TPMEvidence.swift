/// A TPM's statements about a credential's key, all of them signed.
public struct TPMEvidence: Sendable, Equatable {
    /// The key's public area.
    public let publicArea: TPMPublicArea
    /// The chip's manufacturer as named in its certificate, such as `id:494E5443`; not checked against a list, because
    /// new manufacturers appear.
    public let manufacturer: String
    /// The chip's model, as named in its certificate.
    public let model: String
    /// The chip's version, as named in its certificate.
    public let version: String
}
