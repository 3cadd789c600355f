import Testing
import WebAuthn

/// The structure was written from TPM 2.0 Part 2, section 10.12; quotes of swtpm are in `WebAuthnDeviceTests`.
@Suite("A TPM's quote")
struct TPMQuoteTests {
    private static let nonce = [UInt8](repeating: 5, count: 32)
    private static let digest = [UInt8](repeating: 9, count: 32)

    private static func quote(
        magic: [UInt8] = [0xFF, 0x54, 0x43, 0x47],
        type: [UInt8] = [0x80, 0x18],
        selection: [UInt8] = [0, 0, 0, 1, 0, 0x0B, 3, 0xFF, 0, 0],
        digest: [UInt8] = [0, 32] + TPMQuoteTests.digest
    ) -> [UInt8] {
        magic + type + [0, 2, 1, 2] + [0, 32] + nonce + [UInt8](repeating: 0, count: 25) + selection + digest
    }

    @Test("its nonce and digest are read, and it has no other form")
    func parsed() throws {
        let info = try TPMQuoteInfo(parsing: Self.quote())
        #expect(info.extraData == Self.nonce && info.digest == Self.digest)
        let whole = Self.quote()
        for count in whole.indices {
            #expect(throws: TPMStructureError.self) { try TPMQuoteInfo(parsing: Array(whole.prefix(count))) }
        }
        #expect(throws: TPMStructureError.self) { try TPMQuoteInfo(parsing: whole + [0]) }
    }

    @Test(
        "another structure, and other registers or another bank, are refused",
        arguments: [
            quote(magic: [0xFF, 0x54, 0x43, 0x48]), quote(type: [0x80, 0x17]),
            quote(selection: [0, 0, 0, 1, 0, 0x0B, 3, 0x7F, 0, 0]),
            quote(selection: [0, 0, 0, 1, 0, 0x0B, 3, 0xFF, 1, 0]),
            quote(selection: [0, 0, 0, 1, 0, 0x0B, 3, 0, 0, 0]),
            quote(selection: [0, 0, 0, 1, 0, 0x04, 3, 0xFF, 0, 0]), quote(selection: [0, 0, 0, 0]),
            quote(selection: [0, 0, 0, 2, 0, 0x0B, 3, 0xFF, 0, 0, 0, 4, 3, 0xFF, 0, 0]),
            quote(digest: [0, 20] + [UInt8](repeating: 9, count: 20)), quote(digest: [0, 0]),
        ]
    )
    func refused(_ bytes: [UInt8]) {
        #expect(throws: TPMStructureError.self) { try TPMQuoteInfo(parsing: bytes) }
    }
}
