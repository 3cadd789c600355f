internal import WebAuthnModel

/// A chip's signed statement of what the machine was started with (``BootRegisters``), for one nonce of a server.
public struct BootQuote: Sendable, Equatable {
    /// The longest nonce, in bytes.
    public static let mostNonce = 64

    /// TPMS_ATTEST of type TPM_ST_ATTEST_QUOTE, with the nonce as its extra data.
    public let statement: [UInt8]
    /// ECDSA with SHA-256 over ``statement`` by the attestation key: r and s, 32 bytes each.
    public let signature: [UInt8]

    /// Combines a statement and its signature.
    public init(statement: [UInt8], signature: [UInt8]) {
        self.statement = statement
        self.signature = signature
    }

    /// Whether the statement is about exactly the registers of ``BootRegisters``: a chip leaves those out that it does not have.
    public var isWhole: Bool {
        statement.dropLast(2 + BootRegisters.digestCount).suffix(BootRegisters.selection.count)
            .elementsEqual(BootRegisters.selection)
    }

    /// The digest of the registers, which a server looks up; meaningful if the quote is whole.
    public var digest: [UInt8] { statement.suffix(BootRegisters.digestCount) }
}
