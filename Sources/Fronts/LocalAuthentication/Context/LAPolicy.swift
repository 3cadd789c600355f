/// The authentication that an evaluation requires.
public enum LAPolicy: Int, Sendable {
    /// A finger.
    case deviceOwnerAuthenticationWithBiometrics = 1
    /// A finger or the passcode.
    case deviceOwnerAuthentication = 2
    /// A companion device; never available here.
    case deviceOwnerAuthenticationWithCompanion = 3
    /// A finger or a companion device; only a finger here.
    case deviceOwnerAuthenticationWithBiometricsOrCompanion = 4

    /// The old name of ``deviceOwnerAuthenticationWithCompanion``.
    public static var deviceOwnerAuthenticationWithWatch: LAPolicy { .deviceOwnerAuthenticationWithCompanion }
    /// The old name of ``deviceOwnerAuthenticationWithBiometricsOrCompanion``.
    public static var deviceOwnerAuthenticationWithBiometricsOrWatch: LAPolicy {
        .deviceOwnerAuthenticationWithBiometricsOrCompanion
    }
}
