internal import WebAuthnModel

/// A TPM's quote of ``BootRegisters``: TPMS_ATTEST with TPMS_QUOTE_INFO (TPM 2.0 Part 2, section 10.12.4).
public struct TPMQuoteInfo: Sendable, Equatable {
    /// TPM_ST_ATTEST_QUOTE.
    private static let quote: UInt16 = 0x8018

    /// The nonce that the quote was asked for with.
    public let extraData: [UInt8]
    /// The digest of the registers.
    public let digest: [UInt8]

    /// Parses a quote.
    ///
    /// - Throws: ``TPMStructureError`` for another structure, and for a quote of other registers than those of
    ///   ``BootRegisters``: a chip leaves out those that it does not have.
    public init(parsing bytes: [UInt8]) throws(TPMStructureError) {
        var reader = TPMReader(bytes)
        extraData = try reader.attestHead(Self.quote)
        guard try reader.octets(BootRegisters.selection.count) == BootRegisters.selection else {
            throw TPMStructureError()
        }
        digest = try reader.sized()
        guard reader.isAtEnd, digest.count == BootRegisters.digestCount else { throw TPMStructureError() }
    }
}
