/// How long an account waits after failed passwords, by how many there were in a row.
///
/// Longer and longer, and until the day's end after a hundred (NIST SP 800-63B-4, section 3.2.2). A login with a device's
/// key is not held up by it, so that nobody locks the owner out.
public enum ThrottleLadder {
    /// After this many failures in a row the password is off.
    public static let mostFailures = 100

    /// How long to wait after so many failures in a row; nil: until the day's end.
    public static func delay(afterFailures count: Int) -> Duration? {
        switch count {
        case ..<1: .zero
        case ..<3: .seconds(1)
        case ..<9: .seconds(3)
        case ..<25: .seconds(5)
        case ..<mostFailures: .seconds(10)
        default: nil
        }
    }
}
