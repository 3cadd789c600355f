package import KeychainModel

/// Why a device could not make a credential, an assertion or a proof.
public enum DeviceError: Error, Sendable, Equatable {
    /// A member of the server's options is missing, or is not of the form in WebAuthn Level 3.
    case options(String)
    /// The options are for another relying party than the app's own.
    case otherRelyingParty(String)
    /// The relying party does not accept ES256, the only algorithm of the keychain.
    case algorithm
    /// The account already has a credential of this device (`InvalidStateError` of section 6.3.2, step 3).
    case credentialExists
    /// The relying party does not accept this credential.
    case credentialNotAllowed
    /// The stored bytes are not a credential or a proof key.
    case damaged
    /// The keychain refused the request; its status and cause say why.
    ///
    /// A key that is bound to the enrolled fingers is invalidated when these change: `errSecItemNotFound` with
    /// the cause `touchstone invalidated`. The device must then register again.
    case keychain(KeychainRefusal)

    /// Whether the machine has no chip for attestations: its keys are in software.
    public var isWithoutChip: Bool { self == .keychain(KeychainError(.unimplemented)) }

    /// Wraps an error of the keychain.
    package static func keychain(_ error: KeychainError) -> DeviceError {
        .keychain(KeychainRefusal(error: error))
    }
}

/// Why the keychain refused a device's request; `==` compares only ``status``.
public struct KeychainRefusal: Sendable, Equatable, CustomStringConvertible {
    /// The keychain's own error.
    package let error: KeychainError

    /// The reason to act on: an `OSStatus` of Security.framework, such as `errSecUserCanceled`.
    public var status: Int32 { error.status.rawValue }

    /// The driver's name and error code, for a log; nil if no driver failed.
    public var cause: String? { error.cause.map { "\($0.domain) \($0.code)" } }

    /// The status, and the cause if there is one.
    public var description: String { cause.map { "\(status): \($0)" } ?? "\(status)" }
}
