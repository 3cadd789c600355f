/// What is demanded of the user.
public enum LAPolicy: Int, Sendable {
    /// A finger.
    case deviceOwnerAuthenticationWithBiometrics = 1
    /// A finger or the passcode.
    case deviceOwnerAuthentication = 2
    /// A companion device: never available here.
    case deviceOwnerAuthenticationWithCompanion = 3
    /// A finger or a companion device: a finger, here.
    case deviceOwnerAuthenticationWithBiometricsOrCompanion = 4

    /// ``deviceOwnerAuthenticationWithCompanion`` by its old name.
    public static var deviceOwnerAuthenticationWithWatch: LAPolicy { .deviceOwnerAuthenticationWithCompanion }
    /// ``deviceOwnerAuthenticationWithBiometricsOrCompanion`` by its old name.
    public static var deviceOwnerAuthenticationWithBiometricsOrWatch: LAPolicy {
        .deviceOwnerAuthenticationWithBiometricsOrCompanion
    }
}
