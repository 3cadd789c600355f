import CTSS2

/// The endorsement keys that a chip's maker may have certified: TCG EK Credential Profile 2.5, annex B.
///
/// The key itself is created again from its template whenever it is needed; the chip always creates the same one.
enum EndorsementKey: CaseIterable {
    /// In order of preference: a credential for an elliptic-curve key needs only a curve, and these keys are created
    /// within moments, whereas an RSA key takes seconds.
    case lowP256, highP256, highP384, lowRSA2048, highRSA2048

    /// The NV index of the certificate (section 2.2.1.4 for the low range, 2.2.1.5 for the high one).
    var certificateIndex: TPM2_HANDLE {
        switch self {
        case .lowRSA2048: 0x01C0_0002
        case .lowP256: 0x01C0_000A
        case .highRSA2048: 0x01C0_0012
        case .highP256: 0x01C0_0014
        case .highP384: 0x01C0_0016
        }
    }

    /// Whether the key's own, empty authorisation suffices, as in the templates of the high range.
    ///
    /// Those of the low range need the endorsement hierarchy's.
    var takesAuthorization: Bool {
        switch self {
        case .lowP256, .lowRSA2048: false
        case .highP256, .highP384, .highRSA2048: true
        }
    }

    /// Templates L-1, L-2, H-1, H-2 and H-3.
    ///
    /// - Throws: never in practice: every part fits.
    func template() throws(TPMError) -> TPM2B_PUBLIC {
        var area = TPMT_PUBLIC()
        area.nameAlg = self == .highP384 ? kTPM2_ALG_SHA384 : kTPM2_ALG_SHA256
        area.objectAttributes =
            kTPMA_OBJECT_FIXEDTPM | kTPMA_OBJECT_FIXEDPARENT | kTPMA_OBJECT_SENSITIVEDATAORIGIN
            | kTPMA_OBJECT_ADMINWITHPOLICY | kTPMA_OBJECT_RESTRICTED | kTPMA_OBJECT_DECRYPT
            | (takesAuthorization ? kTPMA_OBJECT_USERWITHAUTH : 0)
        try TPM2B.set(&area.authPolicy, policyDigest)
        var symmetric = TPMT_SYM_DEF_OBJECT()
        symmetric.algorithm = kTPM2_ALG_AES
        unsafe symmetric.keyBits.aes = self == .highP384 ? 256 : 128
        unsafe symmetric.mode.aes = kTPM2_ALG_CFB
        switch self {
        case .lowRSA2048, .highRSA2048:
            area.type = kTPM2_ALG_RSA
            var parameters = TPMS_RSA_PARMS()
            parameters.symmetric = symmetric
            parameters.scheme.scheme = kTPM2_ALG_NULL
            parameters.keyBits = 2048
            unsafe area.parameters.rsaDetail = parameters
            // The low range's unique field is as long as the key, all zeros.
            unsafe area.unique.rsa.size = self == .lowRSA2048 ? 256 : 0
        case .lowP256, .highP256, .highP384:
            area.type = kTPM2_ALG_ECC
            var parameters = TPMS_ECC_PARMS()
            parameters.symmetric = symmetric
            parameters.scheme.scheme = kTPM2_ALG_NULL
            parameters.curveID = self == .highP384 ? kTPM2_ECC_NIST_P384 : kTPM2_ECC_NIST_P256
            parameters.kdf.scheme = kTPM2_ALG_NULL
            unsafe area.parameters.eccDetail = parameters
            unsafe area.unique.ecc.x.size = self == .lowP256 ? 32 : 0
            unsafe area.unique.ecc.y.size = self == .lowP256 ? 32 : 0
        }
        return TPM2B_PUBLIC(size: 0, publicArea: area)
    }

    /// The public key as a certificate contains it: the point in X9.63, or the modulus.
    static func publicKey(_ area: TPM2B_PUBLIC) -> [UInt8] {
        let unique = area.publicArea.unique
        if area.publicArea.type == kTPM2_ALG_RSA { return unsafe TPM2B.octets(of: unique.rsa) }
        let point = unsafe unique.ecc
        return [4] + TPM2B.octets(of: point.x) + TPM2B.octets(of: point.y)
    }

    /// PolicyA for the low range, `PolicySecret(endorsement)`; PolicyB for the high one, which that or an authorised
    /// NV policy satisfies.
    private var policyDigest: [UInt8] {
        switch self {
        case .lowP256, .lowRSA2048:
            [
                0x83, 0x71, 0x97, 0x67, 0x44, 0x84, 0xB3, 0xF8, 0x1A, 0x90, 0xCC, 0x8D, 0x46, 0xA5, 0xD7,
                0x24,
                0xFD, 0x52, 0xD7, 0x6E, 0x06, 0x52, 0x0B, 0x64, 0xF2, 0xA1, 0xDA, 0x1B, 0x33, 0x14, 0x69,
                0xAA,
            ]
        case .highP256, .highRSA2048:
            [
                0xCA, 0x3D, 0x0A, 0x99, 0xA2, 0xB9, 0x39, 0x06, 0xF7, 0xA3, 0x34, 0x24, 0x14, 0xEF, 0xCF,
                0xB3,
                0xA3, 0x85, 0xD4, 0x4C, 0xD1, 0xFD, 0x45, 0x90, 0x89, 0xD1, 0x9B, 0x50, 0x71, 0xC0, 0xB7,
                0xA0,
            ]
        case .highP384:
            [
                0xB2, 0x6E, 0x7D, 0x28, 0xD1, 0x1A, 0x50, 0xBC, 0x53, 0xD8, 0x82, 0xBC, 0xF5, 0xFD, 0x3A,
                0x1A,
                0x07, 0x41, 0x48, 0xBB, 0x35, 0xD3, 0xB4, 0xE4, 0xCB, 0x1C, 0x0A, 0xD9, 0xBD, 0xE4, 0x19,
                0xCA,
                0xCB, 0x47, 0xBA, 0x09, 0x69, 0x96, 0x46, 0x15, 0x0F, 0x9F, 0xC0, 0x00, 0xF3, 0xF8, 0x0E,
                0x12,
            ]
        }
    }
}
