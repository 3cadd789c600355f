/// Kinds of devices that can stand in for a finger; none is ever paired here.
public enum LACompanionType: Int, Sendable {
    /// A watch.
    case watch = 1
    /// A Mac.
    case mac = 2
    /// A Vision device.
    case vision = 4
}
