import CTSS2

/// The key that speaks for the chip: it signs only what the chip itself made (`restricted`), so that its word about
/// another key cannot be forged outside.
///
/// It is a primary of the owner's hierarchy, made again from its template whenever it is needed: there is
/// nothing to store, and it ends with `TPM2_Clear`, as the keys it vouches for do.
enum AttestationKey {
    /// Needs no authorisation: what it says of a key is asked for with that key's own.
    private static let attributes: TPMA_OBJECT =
        kTPMA_OBJECT_FIXEDTPM | kTPMA_OBJECT_FIXEDPARENT | kTPMA_OBJECT_SENSITIVEDATAORIGIN
        | kTPMA_OBJECT_USERWITHAUTH | kTPMA_OBJECT_NODA | kTPMA_OBJECT_RESTRICTED
        | kTPMA_OBJECT_SIGN_ENCRYPT

    /// Tells our key from those of other programs, which the same template would give; 32 bytes.
    private static let label = Array("touchstone attestation key 1    ".utf8)

    /// What `TPM2_CreatePrimary` is asked for.
    static func template() throws(TPMError) -> TPM2B_PUBLIC {
        var area = try TPM2B_PUBLIC.p256(attributes, policy: nil)
        unsafe area.publicArea.parameters.eccDetail.scheme.scheme = kTPM2_ALG_ECDSA
        unsafe area.publicArea.parameters.eccDetail.scheme.details.ecdsa.hashAlg = kTPM2_ALG_SHA256
        try unsafe TPM2B.set(&area.publicArea.unique.ecc.x, label)
        return area
    }
}
