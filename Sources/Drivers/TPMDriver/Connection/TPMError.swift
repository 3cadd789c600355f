public import KeychainModel

/// Why a TPM operation failed.
public enum TPMError: Error, Sendable, Equatable {
    /// The chip or its library returned an error.
    case response(ResponseCode)
    /// The chip's own limit was reached: it accepts no guesses for at most this many seconds.
    case lockedOut(ResponseCode, seconds: Int64)
    /// The blob belongs to another chip, or this chip was cleared since.
    case otherHardware
    /// The counter advanced, or is not the one that a secret was sealed to.
    case invalidated
    /// The machine was restarted since, which destroyed the secret.
    case restarted
    /// The blob cannot be decoded.
    case damaged
    /// A keybag's index is missing or replaced: it was removed with the owner's rights.
    case missingIndex
    /// The owner's authorisation is set, so that nothing can be created in the chip.
    case ownerAuthorizationSet
    /// The lockout authorisation is set already.
    case lockoutAuthorizationSet
    /// An index could not be noted, and so was not created.
    case unnoted(KeychainError)
    /// The configured transport is not an allowed one.
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

    /// Whether the chip has nothing loaded under the command's handle with this number, counted from 1.
    func isUnknownHandle(number: UInt32) -> Bool {
        guard case .response(let code) = self else { return false }
        return code.tpmError == ResponseCode.handle && code.rawValue >> 8 & 7 == number
    }

    /// Whether the chip refused an authorisation, which it also does if a session's nonces differ.
    var isRefusal: Bool {
        self == .ownerAuthorizationSet || tpmError == ResponseCode.authFail
            || tpmError == ResponseCode.badAuth
    }

    /// The chip did not answer in time.
    static let silent = TPMError.response(ResponseCode(rawValue: ResponseCode.silence))

    /// Whether the chip did not respond in time; a late response could be taken for that of the next command.
    var isSilence: Bool {
        guard case .response(let code) = self else { return false }
        return code.rawValue == ResponseCode.silence
    }

    /// Whether the connection is unusable: the transport failed, or the chip lost the loaded objects.
    var isLostConnection: Bool {
        guard case .response(let code) = self else { return false }
        if let error = code.tpmError { return ResponseCode.staleReferences.contains(error) }
        return code.isMissingAnswer
    }
}
