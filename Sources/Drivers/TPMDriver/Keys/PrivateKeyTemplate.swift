import CTSS2
import KeychainModel
import SecretMemory
import WebAuthnModel

/// The public area of a private key that an app uses (TPM 2.0 Part 2, section 12.2.4).
enum PrivateKeyTemplate {
    /// Created in this chip and never leaves it; signs and agrees with no fixed scheme.
    ///
    /// Its authorisation is random and cannot be guessed, so that it is exempt from the chip's limit on guesses
    /// (`noDA`): a refused use locks no other key out, and a lockout does not block this one. `userWithAuth` is
    /// clear, so that the policy is the only way to use it, which a server can check.
    static let attributes: TPMA_OBJECT =
        kTPMA_OBJECT_FIXEDTPM | kTPMA_OBJECT_FIXEDPARENT | kTPMA_OBJECT_SENSITIVEDATAORIGIN
        | kTPMA_OBJECT_NODA | kTPMA_OBJECT_SIGN_ENCRYPT | kTPMA_OBJECT_DECRYPT

    /// The policy that every use of the key has to satisfy.
    static let policy = Policy().authValue()

    /// How a server recomputes ``policy``.
    static let transcript: [PolicyStep] = [.authValue]

    /// The template for `TPM2_Create`.
    static func make() throws(TPMError) -> TPM2B_PUBLIC { try .p256(attributes, policy: policy) }

    /// The key's authValue, derived from the authorisation that its owner keeps.
    static func authorizationValue(_ authorization: borrowing SecretBytes) -> SecretBytes {
        AuthorizationValue.derive(.privateKey, from: authorization)
    }

    /// Whether a public area matches this template.
    static func describes(_ area: TPM2B_PUBLIC) -> Bool {
        let area = area.publicArea
        let parameters = unsafe area.parameters.eccDetail
        return area.type == kTPM2_ALG_ECC && area.nameAlg == kTPM2_ALG_SHA256
            && area.objectAttributes == attributes && TPM2B.octets(of: area.authPolicy) == policy.digest
            && parameters.curveID == kTPM2_ECC_NIST_P256 && parameters.scheme.scheme == kTPM2_ALG_NULL
    }
}

extension TPM2B_PUBLIC {
    /// A P-256 key without symmetric algorithm, key derivation or fixed scheme.
    static func p256(_ attributes: TPMA_OBJECT, policy: Policy?) throws(TPMError) -> TPM2B_PUBLIC {
        var area = TPM2B_PUBLIC()
        area.publicArea.type = kTPM2_ALG_ECC
        area.publicArea.nameAlg = kTPM2_ALG_SHA256
        area.publicArea.objectAttributes = attributes
        try TPM2B.set(&area.publicArea.authPolicy, policy?.digest ?? [])
        var parameters = TPMS_ECC_PARMS()
        parameters.symmetric.algorithm = kTPM2_ALG_NULL
        parameters.scheme.scheme = kTPM2_ALG_NULL
        parameters.curveID = kTPM2_ECC_NIST_P256
        parameters.kdf.scheme = kTPM2_ALG_NULL
        unsafe area.publicArea.parameters.eccDetail = parameters
        return area
    }
}
