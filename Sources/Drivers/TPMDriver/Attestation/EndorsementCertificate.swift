import CTSS2

extension TPMConnection {
    /// The handles that TCG's registry reserves for certificates of the chip's maker.
    private static let certificateHandles: ClosedRange<TPM2_HANDLE> = 0x01C0_0000...0x01C0_7FFF
    /// The longest certificate that is read, in bytes.
    private static let longestCertificate = 8192
    /// How many bytes of an index every chip returns at once (`TPM2_PT_NV_BUFFER_MAX` is never less).
    private static let chunk: UInt16 = 512

    /// The certified endorsement keys: those whose certificate the chip holds.
    func certifiedEndorsementKeys() throws(TPMError) -> [EndorsementKey] {
        let present = Set(try handles(from: Self.certificateHandles.lowerBound))
        return EndorsementKey.allCases.filter { present.contains($0.certificateIndex) }
    }

    /// The certificate of an endorsement key, in DER; nil if the index contains no certificate.
    func certificate(of key: EndorsementKey) throws(TPMError) -> [UInt8]? {
        var index = ESYS_TR_NONE
        try send {
            unsafe Esys_TR_FromTPMPublic(
                $0.pointer,
                key.certificateIndex,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                &index
            )
        }
        defer { try? local { unsafe Esys_TR_Close($0.pointer, &index) } }
        // Reads up to the length given in the first bytes: an index may be longer than its certificate.
        var octets = try read(index, Self.chunk, at: 0)
        guard let length = Self.derLength(octets), length <= Self.longestCertificate else { return nil }
        while octets.count < length {
            octets += try read(
                index,
                min(Self.chunk, UInt16(length - octets.count)),
                at: UInt16(octets.count)
            )
        }
        return Array(octets.prefix(length))
    }

    /// Reads bytes of an index that needs no authorisation, as many as there are.
    private func read(_ index: ESYS_TR, _ count: UInt16, at offset: UInt16) throws(TPMError) -> [UInt8] {
        var data: UnsafeMutablePointer<TPM2B_MAX_NV_BUFFER>?
        try send {
            unsafe Esys_NV_Read(
                $0.pointer,
                index,
                index,
                ESYS_TR_PASSWORD,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                count,
                offset,
                &data
            )
        }
        return unsafe TPM2B.take(data)
    }

    /// The length of the SEQUENCE at the start, with its head (X.690, section 8.1.3).
    private static func derLength(_ octets: [UInt8]) -> Int? {
        guard octets.count >= 4, octets[0] == 0x30 else { return nil }
        switch octets[1] {
        case 0x81: return 3 + Int(octets[2])
        case 0x82: return 4 + Int(octets[2]) << 8 + Int(octets[3])
        default: return nil
        }
    }
}
