/// What every use of a store or a key demands: fixed when it is made, and never weakened by a call.
///
/// The strict rule is the short one; each method that weakens it can be found by searching for `accepting` and `reusable`.
/// What a rule guards stays on this device, and is gone when the passcode is removed. The keychain itself keeps to it: without
/// what the rule demands, the bytes cannot be decrypted.
///
/// ```swift
/// let rule: AccessRule = .biometry.reusable(for: .seconds(60))
/// ```
public struct AccessRule: Sendable, Hashable {
    enum Need: String, Sendable {
        case biometry, biometryOrPasscode, passcode, biometryAndPasscode, whenUnlocked, afterFirstUnlock

        var hasBiometry: Bool {
            switch self {
            case .biometry, .biometryOrPasscode, .biometryAndPasscode: true
            case .passcode, .whenUnlocked, .afterFirstUnlock: false
            }
        }
    }

    let need: Need
    var acceptsLaterEnrolments = false
    var acceptsWeakBiometry = false
    var level: HardwareLevel?
    /// How old a prompt may be that counts.
    var reuse: Duration = .zero

    /// The longest ``reusable(for:)``.
    static let longestReuse: Duration = .seconds(300)

    init(_ need: Need) { self.need = need }

    /// A finger of those enrolled when it is made; invalidated when one is added or removed.
    public static let biometry = AccessRule(.biometry)
    /// A finger of those enrolled when it is made, or the passcode; after a change of fingers the passcode alone.
    public static let biometryOrPasscode = AccessRule(.biometryOrPasscode)
    /// The passcode.
    public static let passcode = AccessRule(.passcode)
    /// A finger of those enrolled when it is made, and the passcode.
    public static let biometryAndPasscode = AccessRule(.biometryAndPasscode)
    /// Nobody is asked; it can be used while the keychain is unlocked.
    public static let whenUnlocked = AccessRule(.whenUnlocked)
    /// Nobody is asked; it can be used from the first unlock after a start on.
    public static let afterFirstUnlock = AccessRule(.afterFirstUnlock)

    /// The same, for fingers that are enrolled later too: whoever can enrol a finger can open it.
    public func acceptingLaterEnrolments() -> AccessRule {
        changed { $0.acceptsLaterEnrolments = need.hasBiometry }
    }

    /// The same, on sensors that are known to be weak too.
    public func acceptingWeakBiometry() -> AccessRule {
        changed { $0.acceptsWeakBiometry = need.hasBiometry }
    }

    /// The same, only where the keychain is protected by at least `level`: `hardwareTooWeak` is thrown elsewhere.
    public func requiring(_ level: HardwareLevel) -> AccessRule { changed { $0.level = level } }

    /// The same, with one prompt for all uses of the store, or of the key, within `time`, by this process; a lock, a sleep of the
    /// machine and a change of the enrolled fingers end that.
    ///
    /// - Parameter time: In milliseconds, at most 300 s; a longer or negative time is `limitExceeded` where the rule is used.
    /// - Returns: the rule.
    public func reusable(for time: Duration) -> AccessRule { changed { $0.reuse = asks ? time : .zero } }

    private func changed(_ change: (inout AccessRule) -> Void) -> AccessRule {
        var rule = self
        change(&rule)
        return rule
    }

    /// Whether a use asks the user.
    var asks: Bool {
        switch need {
        case .whenUnlocked, .afterFirstUnlock: false
        case .biometry, .biometryOrPasscode, .passcode, .biometryAndPasscode: true
        }
    }

    /// - Throws: ``TouchstoneError`` with `limitExceeded`.
    func check() throws(TouchstoneError) {
        guard reuse >= .zero, reuse <= Self.longestReuse else { throw .limit("reusable: at most 300 s") }
    }
}

extension AccessRule: CustomStringConvertible {
    /// The rule as it is written, such as `biometry.reusable(for: 60 s)`.
    public var description: String {
        var text = need.rawValue
        if acceptsLaterEnrolments { text += ".acceptingLaterEnrolments()" }
        if acceptsWeakBiometry { text += ".acceptingWeakBiometry()" }
        if let level { text += ".requiring(\(level))" }
        if reuse != .zero { text += ".reusable(for: \(reuse.milliseconds) ms)" }
        return text
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero.
    var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
