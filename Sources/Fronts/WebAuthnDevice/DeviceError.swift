package import KeychainModel

/// Why a device makes no credential, no assertion or no proof.
public enum DeviceError: Error, Sendable, Equatable {
    /// The server's options lack this member, or it has another form than in WebAuthn Level 3.
    case options(String)
    /// The options are for another relying party than the app's own.
    case otherRelyingParty(String)
    /// The relying party accepts no signature of ES256, and the keychain makes no others.
    case algorithm
    /// The account has one of the device's credentials already (`InvalidStateError` of section 6.3.2, step 3).
    case credentialExists
    /// The relying party asks for other credentials than this one.
    case credentialNotAllowed
    /// Stored bytes are no credential and no proof key.
    case damaged
    /// The keychain refused: its status and cause say why.
    ///
    /// A key that is bound to the enrolled fingers is gone once these change: `errSecItemNotFound` with the cause
    /// `touchstone invalidated`. The device then registers anew.
    case keychain(KeychainRefusal)

    /// Whether there is no chip that could vouch: keys are kept by software here.
    public var isWithoutChip: Bool { self == .keychain(KeychainError(.unimplemented)) }

    /// The keychain's own error as a device's.
    package static func keychain(_ error: KeychainError) -> DeviceError {
        .keychain(KeychainRefusal(error: error))
    }
}

/// Why the keychain did not do what a device asked for; only ``status`` takes part in `==`.
public struct KeychainRefusal: Sendable, Equatable, CustomStringConvertible {
    /// The keychain's own error.
    package let error: KeychainError

    /// What to act on: a status of Security.framework, such as `errSecUserCanceled`.
    public var status: Int32 { error.status.rawValue }

    /// What the driver reported, for a log: its name and its code; nil where no driver failed.
    public var cause: String? { error.cause.map { "\($0.domain) \($0.code)" } }

    /// The status, and the cause where there is one.
    public var description: String { cause.map { "\(status): \($0)" } ?? "\(status)" }
}
