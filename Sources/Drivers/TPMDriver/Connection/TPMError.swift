public import KeychainModel

/// Why the TPM did not do what was asked.
public enum TPMError: Error, Sendable, Equatable {
    /// The chip or its library refused.
    case response(ResponseCode)
    /// The chip accepts no guesses for at most so many seconds: its own limit was reached.
    case lockedOut(ResponseCode, seconds: Int64)
    /// What was stored belongs to another chip, or this one was cleared since.
    case otherHardware
    /// A counter went on, or is not the one that a secret was sealed to.
    case invalidated
    /// The machine was restarted since, which destroyed what was stored.
    case restarted
    /// What was stored cannot be read.
    case damaged
    /// An index of a keybag is gone or is another one: somebody with the owner's rights removed it.
    case missingIndex
    /// The owner's authorisation is set, so that nothing can be made in the chip.
    case ownerAuthorizationSet
    /// The lockout authorisation is set already.
    case lockoutAuthorizationSet
    /// An index cannot be noted, and so is not made.
    case unnoted(KeychainError)
    /// The configured transport is not one that is accepted.
    case unknownTransport
}

extension TPMError {
    /// The TPM's own error, see ``ResponseCode/tpmError``.
    var tpmError: UInt32? {
        switch self {
        case .response(let code): code.tpmError
        default: nil
        }
    }

    /// Whether the chip knows nothing under the command's handle with this number, counted from 1.
    func isUnknownHandle(number: UInt32) -> Bool {
        guard case .response(let code) = self else { return false }
        return code.tpmError == ResponseCode.handle && code.rawValue >> 8 & 7 == number
    }

    /// The chip did not answer in time.
    static let silent = TPMError.response(ResponseCode(rawValue: ResponseCode.silence))

    /// Whether the chip did not answer in time; its answer may still come, and would be taken for another one's.
    var isSilence: Bool {
        guard case .response(let code) = self else { return false }
        return code.rawValue == ResponseCode.silence
    }

    /// Whether the connection is of no use any more: the transport failed, or the chip lost what was loaded.
    var isLostConnection: Bool {
        guard case .response(let code) = self else { return false }
        if let error = code.tpmError { return ResponseCode.staleReferences.contains(error) }
        return code.layer == ResponseCode.transportLayer
            || ResponseCode.lostAnswers.contains(code.rawValue & 0xFFFF)
    }
}
