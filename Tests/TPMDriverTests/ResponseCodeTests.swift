import KeychainModel
import TPMDriver
import Testing

@Suite("Response codes")
struct ResponseCodeTests {
    @Test(
        "response codes map to the status that callers handle",
        arguments: [
            (0x98E, Status.authFailed), (0x9A2, .authFailed), (0x12F, .authFailed), (0x126, .authFailed),
            (0x99D, .authFailed), (0x1DF, .decode), (0x922, .notAvailable), (0x920, .notAvailable),
            (0x14B, .diskFull), (0x000A_000A, .notAvailable), (0x0007_000A, .notAvailable),
            (0x5A7, .internalComponent), (0x0BAD_BEEF, .notAvailable),
        ] as [(UInt32, Status)]
    )
    func statuses(code: UInt32, status: Status) {
        let error = KeychainError(TPMError.response(ResponseCode(rawValue: code)))
        #expect(error.status == status)
        if code != 0x12F { #expect(error.cause?.code.contains("0x\(String(code, radix: 16)) ") == true) }
        // No answer is one cause, whatever the transport calls it.
        let isAnswer = ![0x000A_000A, 0x0007_000A].contains(code)
        #expect(error.cause?.known == (code == 0x12F ? .exhausted : isAnswer ? nil : .silentHardware))
    }

    @Test("handle, session and parameter numbers are stripped; codes of other layers are not the TPM's")
    func layers() {
        #expect(ResponseCode(rawValue: 0x98E).tpmError == 0x8E)
        #expect(ResponseCode(rawValue: 0x1DF).tpmError == 0x9F)
        #expect(ResponseCode(rawValue: 0x921).tpmError == 0x921)
        #expect(ResponseCode(rawValue: 0x000B_0921).tpmError == 0x921)
        #expect(ResponseCode(rawValue: 0x000A_000A).tpmError == nil)
        #expect(ResponseCode(rawValue: 0x000A_000A).layer == 10)
    }

    @Test("the library explains known codes, and unknown ones are kept")
    func text() {
        #expect(ResponseCode(rawValue: 0x98E).description.contains("authorization HMAC check failed"))
        #expect(ResponseCode(rawValue: 0x0BAD_BEEF).description.hasPrefix("0xbadbeef "))
    }
}
