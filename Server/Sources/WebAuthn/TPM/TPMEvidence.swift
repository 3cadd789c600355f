/// What a TPM says of a credential's key, all of it signed.
public struct TPMEvidence: Sendable, Equatable {
    /// The key's public area.
    public let publicArea: TPMPublicArea
    /// The chip's maker as its certificate names it, such as `id:494E5443`; new makers come, so that no list is kept.
    public let manufacturer: String
    /// The chip's model, as its certificate names it.
    public let model: String
    /// The chip's version, as its certificate names it.
    public let version: String
}
