internal import CTSS2

/// A response code of the TPM or of a layer of its library; unknown numbers are kept.
public struct ResponseCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number as received, `TSS2_RC`: the layer in bits 16 to 23, the layer's own code below.
    public let rawValue: UInt32

    /// Accepts any number.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The responding layer: 0 the TPM, 7 ESYS, 8 SYS, 9 marshalling, 10 the transport, 11 and 12 a resource manager.
    public var layer: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 16) }

    /// The TPM's error without the number of the handle, session or parameter it belongs to (Part 2, 6.6.2).
    ///
    /// Nil if the code is from another layer than the TPM or its resource manager.
    public var tpmError: UInt32? {
        guard layer == 0 || layer == 11 || layer == 12 else { return nil }
        let code = rawValue & 0xFFFF
        return code & 0x80 != 0 ? code & 0xBF : code
    }

    /// Whether there was no response, or one that the chip would not send.
    var isMissingAnswer: Bool {
        tpmError == nil
            && (layer == Self.transportLayer || Self.lostAnswers.contains(rawValue & 0xFFFF))
    }

    /// For example `0x98e tpm:session(1):the authorization HMAC check failed and DA counter incremented`.
    public var description: String {
        let text = unsafe String(cString: Tss2_RC_Decode(rawValue))
        return "0x\(String(rawValue, radix: 16)) \(text)"
    }
}

// The TPM's errors as ``ResponseCode/tpmError`` gives them (Part 2, 6.6.3).
extension ResponseCode {
    /// `TPM_RC_AUTH_FAIL`: wrong, and counted towards the chip's own limit on guesses (0x98e).
    static let authFail: UInt32 = 0x8E
    /// `TPM_RC_BAD_AUTH`: wrong, but not counted towards the chip's own limit (0x9a2).
    static let badAuth: UInt32 = 0xA2
    /// `TPM_RC_HANDLE`: nothing is loaded at this handle (0x18b).
    static let handle: UInt32 = 0x8B
    /// `TPM_RC_POLICY_FAIL` (0x99d).
    static let policyFail: UInt32 = 0x9D
    /// `TPM_RC_INTEGRITY`: not made by this chip, or altered (0x1df).
    static let integrity: UInt32 = 0x9F
    /// `TPM_RC_AUTH_UNAVAILABLE`: a PIN index whose attempts are used up.
    static let authUnavailable: UInt32 = 0x12F
    /// `TPM_RC_POLICY`: a policy's comparison failed.
    static let policy: UInt32 = 0x126
    /// `TPM_RC_NV_SPACE`: no room for another index.
    static let nvSpace: UInt32 = 0x14B
    /// `TPM_RC_NV_DEFINED`: an index with this handle exists.
    static let nvDefined: UInt32 = 0x14C
    /// `TPM_RC_LOCKOUT`: the chip accepts no authorisation that its limit on guesses covers.
    static let lockout: UInt32 = 0x921
    /// `TPM_RC_YIELDED`, `TPM_RC_TESTING`, `TPM_RC_NV_RATE`, `TPM_RC_RETRY`: send the same command again later.
    static let again: Set<UInt32> = [0x908, 0x90A, 0x920, 0x922]
    /// `TPM_RC_REFERENCE_H0` to `S6`: a handle or session that is no longer loaded.
    static let staleReferences: ClosedRange<UInt32> = 0x910...0x91E

    /// `TPM_RC_FAILURE`: a self-test failed, and the chip refuses everything until a restart.
    static let failure: UInt32 = 0x101
    /// Our own code in the transport's layer: the chip did not respond within ``AnswerTime/limit``.
    static let silence: UInt32 = 0x000A_7FFF

    /// The layer of the transport (`TSS2_TCTI_RC_LAYER`).
    static let transportLayer: UInt8 = 10
    /// Codes of the library's layers for a missing response, or one that the chip would not send:
    /// `BAD_SEQUENCE`, `NO_CONNECTION`, `IO_ERROR`, `MALFORMED_RESPONSE`, `INSUFFICIENT_RESPONSE`, `RSP_AUTH_FAILED`.
    static let lostAnswers: Set<UInt32> = [7, 8, 10, 17, 19, 27]
}
