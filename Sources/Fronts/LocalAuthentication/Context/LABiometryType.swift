/// The type of biometry that a machine has.
public enum LABiometryType: Int, Sendable {
    /// No biometry.
    case none = 0
    /// A fingerprint sensor.
    case touchID = 1
    /// Face recognition.
    case faceID = 2
    /// Iris recognition.
    case opticID = 4

    /// The old name of ``none``.
    public static var LABiometryNone: LABiometryType { .none }
}
