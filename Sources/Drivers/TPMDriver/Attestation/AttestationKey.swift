import CTSS2

/// The attestation key: it is `restricted`, signs only structures that the chip itself made, and so cannot be used to
/// forge a statement about another key.
///
/// It is a primary of the owner's hierarchy, created again from its template whenever it is needed: it needs no
/// storage, and it ends with `TPM2_Clear`, as the keys it attests do.
enum AttestationKey {
    /// Needs no authorisation: certifying a key takes that key's own.
    private static let attributes: TPMA_OBJECT =
        kTPMA_OBJECT_FIXEDTPM | kTPMA_OBJECT_FIXEDPARENT | kTPMA_OBJECT_SENSITIVEDATAORIGIN
        | kTPMA_OBJECT_USERWITHAUTH | kTPMA_OBJECT_NODA | kTPMA_OBJECT_RESTRICTED
        | kTPMA_OBJECT_SIGN_ENCRYPT

    /// Makes our key differ from other programs' keys of the same template; 32 bytes.
    static let label = Array("touchstone attestation key 1    ".utf8)

    /// The template for `TPM2_CreatePrimary`.
    static func template() throws(TPMError) -> TPM2B_PUBLIC {
        var area = try TPM2B_PUBLIC.p256(attributes, policy: nil)
        unsafe area.publicArea.parameters.eccDetail.scheme.scheme = kTPM2_ALG_ECDSA
        unsafe area.publicArea.parameters.eccDetail.scheme.details.ecdsa.hashAlg = kTPM2_ALG_SHA256
        try unsafe TPM2B.set(&area.publicArea.unique.ecc.x, label)
        return area
    }
}
