/// A factor that a user can show.
public enum AuthenticationFactor: UInt8, Sendable, CaseIterable {
    /// A finger on the sensor.
    case biometry = 1
    /// The keybag's passcode.
    case passcode = 2
}

/// The factors that a user must show.
public enum AuthenticationRequirement: UInt8, Sendable, CaseIterable {
    /// A finger.
    case biometry = 1
    /// The passcode.
    case passcode = 2
    /// A finger or the passcode.
    case biometryOrPasscode = 3
    /// A finger and the passcode.
    case biometryAndPasscode = 4
}

/// Apple's `LAPolicy`, by its own numbers.
public enum AuthenticationPolicy: Int, Sendable, CaseIterable {
    /// `deviceOwnerAuthenticationWithBiometrics`.
    case biometrics = 1
    /// `deviceOwnerAuthentication`: biometry, then passcode.
    case deviceOwner = 2
    /// `deviceOwnerAuthenticationWithCompanion`: never available here.
    case companion = 3
    /// `deviceOwnerAuthenticationWithBiometricsOrCompanion`: biometry alone, here.
    case biometricsOrCompanion = 4

    /// The factors the policy needs; nil if no factor on this machine can meet it.
    public var requirement: AuthenticationRequirement? {
        switch self {
        case .biometrics, .biometricsOrCompanion: .biometry
        case .deviceOwner: .biometryOrPasscode
        case .companion: nil
        }
    }
}

/// Apple's `LAAccessControlOperation`, by its own numbers.
public enum AccessOperation: Int, Sendable, CaseIterable {
    /// Create an item.
    case createItem = 0
    /// Read an item.
    case useItem = 1
    /// Create a key.
    case createKey = 2
    /// Sign with a key.
    case useKeySign = 3
    /// Decrypt with a key.
    case useKeyDecrypt = 4
    /// Agree on a key.
    case useKeyKeyExchange = 5
}
