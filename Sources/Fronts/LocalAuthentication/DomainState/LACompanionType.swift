/// Types of companion devices that can authenticate in place of biometry; none can be paired here.
public enum LACompanionType: Int, Sendable {
    /// A watch.
    case watch = 1
    /// A Mac.
    case mac = 2
    /// A Vision device.
    case vision = 4
}
