/// How long an account has to wait after failed passwords, by the number of consecutive failures.
///
/// Whoever mistypes once tries again at once. The delays grow, and reach until the end of the day after a hundred (NIST SP 800-63B-4, section 3.2.2). They do not
/// apply to a login with a device's key, so that an attacker cannot lock the owner out.
public enum ThrottleLadder {
    /// The number of consecutive failures after which password login is disabled.
    public static let mostFailures = 100

    /// How long to wait after this number of consecutive failures; nil: until the end of the day.
    public static func delay(afterFailures count: Int) -> Duration? {
        switch count {
        case ..<2: .zero
        case ..<3: .seconds(1)
        case ..<9: .seconds(3)
        case ..<25: .seconds(5)
        case ..<mostFailures: .seconds(10)
        default: nil
        }
    }
}
