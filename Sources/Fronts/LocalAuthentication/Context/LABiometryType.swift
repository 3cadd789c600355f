/// What kind of biometry a machine has.
public enum LABiometryType: Int, Sendable {
    /// None.
    case none = 0
    /// Fingerprints.
    case touchID = 1
    /// Faces.
    case faceID = 2
    /// Irises.
    case opticID = 4

    /// ``none`` by its old name.
    public static var LABiometryNone: LABiometryType { .none }
}
