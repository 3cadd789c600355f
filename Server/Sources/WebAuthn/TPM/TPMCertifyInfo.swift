/// A TPM's certification of a key: TPMS_ATTEST with TPMS_CERTIFY_INFO (TPM 2.0 Part 2, section 10.12).
struct TPMCertifyInfo {
    /// TPM_ST_ATTEST_CERTIFY.
    private static let certify: UInt16 = 0x8017

    let extraData: [UInt8]
    /// The name of the certified key.
    let name: [UInt8]

    init(parsing bytes: [UInt8]) throws(TPMStructureError) {
        var reader = TPMReader(bytes)
        extraData = try reader.attestHead(Self.certify)
        name = try reader.sized()
        // The qualified name.
        _ = try reader.sized()
        guard reader.isAtEnd else { throw TPMStructureError() }
    }
}
