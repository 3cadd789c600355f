/// A TPM's certification of a key: TPMS_ATTEST with TPMS_CERTIFY_INFO (TPM 2.0 Part 2, section 10.12).
struct TPMCertifyInfo {
    /// TPM_GENERATED_VALUE.
    private static let magic: UInt32 = 0xFF54_4347
    /// TPM_ST_ATTEST_CERTIFY.
    private static let certify: UInt16 = 0x8017

    let extraData: [UInt8]
    /// The name of the certified key.
    let name: [UInt8]

    init(parsing bytes: [UInt8]) throws(TPMStructureError) {
        var reader = TPMReader(bytes)
        guard try reader.number(UInt32.self) == Self.magic, try reader.number(UInt16.self) == Self.certify
        else {
            throw TPMStructureError()
        }
        _ = try reader.sized()
        extraData = try reader.sized()
        // TPMS_CLOCK_INFO (17) and the firmware version (8): ignored as in section 8.3.
        _ = try reader.octets(25)
        name = try reader.sized()
        // The qualified name.
        _ = try reader.sized()
        guard reader.isAtEnd else { throw TPMStructureError() }
    }
}
