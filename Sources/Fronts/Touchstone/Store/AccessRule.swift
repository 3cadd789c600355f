/// What every use of a store or key requires: fixed when it is made, and never weakened by a call.
///
/// The constants are the strict rules; the methods that weaken a rule begin with `accepting` or `reusable`, so that a search
/// finds them. Data under a rule stays on this device and is invalidated when the passcode is removed, unless the rule is
/// ``acceptingBackups()``. The keychain enforces the rule: without the required authentication the bytes cannot be decrypted.
///
/// ```swift
/// let rule: AccessRule = .biometry.reusable(for: .seconds(60))
/// ```
public struct AccessRule: Sendable, Hashable {
    /// Each text is stored: in the record of a key, in a store's marker and in its items.
    enum Need: String, Sendable, CaseIterable {
        case biometry = "biometry"
        case biometryOrPasscode = "biometryOrPasscode"
        case passcode = "passcode"
        case biometryAndPasscode = "biometryAndPasscode"
        case whenUnlocked = "whenUnlocked"
        case afterFirstUnlock = "afterFirstUnlock"

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
    var acceptsBackups = false
    var level: HardwareLevel?
    /// The maximum age of a prompt that authorises a use.
    var reuse: Duration = .zero

    /// The longest time for ``reusable(for:)``.
    static let longestReuse: Duration = .seconds(300)

    init(_ need: Need) { self.need = need }

    /// A finger enrolled when the store or key is made; invalidated when a finger is added or removed.
    public static let biometry = AccessRule(.biometry)
    /// A finger enrolled when the store or key is made, or the passcode; after a change of the enrolled fingers,
    /// the passcode alone.
    public static let biometryOrPasscode = AccessRule(.biometryOrPasscode)
    /// The passcode.
    public static let passcode = AccessRule(.passcode)
    /// A finger enrolled when the store or key is made, and the passcode.
    public static let biometryAndPasscode = AccessRule(.biometryAndPasscode)
    /// No prompt; usable while the keychain is unlocked.
    public static let whenUnlocked = AccessRule(.whenUnlocked)
    /// No prompt; usable after the first unlock since the start.
    public static let afterFirstUnlock = AccessRule(.afterFirstUnlock)

    /// The same rule, but fingers enrolled later count too: anyone who can enrol a finger gets access.
    public func acceptingLaterEnrolments() -> AccessRule {
        changed { $0.acceptsLaterEnrolments = need.hasBiometry }
    }

    /// The same rule, but sensors graded weak are accepted too.
    public func acceptingWeakBiometry() -> AccessRule {
        changed { $0.acceptsWeakBiometry = need.hasBiometry }
    }

    /// The same rule, but the values go into the user's backups and come back from them, to this program and under this rule.
    ///
    /// For what cannot be made again, such as a diary: on Linux `touchstone backup` writes a file that only the recovery code opens,
    /// on another machine too. A backup restores no set of enrolled fingers, so a rule with biometry has to be
    /// ``acceptingLaterEnrolments()`` as well: otherwise a store throws `unsupported` where it is used. So does a key, which never leaves
    /// its device.
    public func acceptingBackups() -> AccessRule { changed { $0.acceptsBackups = true } }

    /// The same rule, but only with hardware protection of at least `level`; otherwise uses throw
    /// `hardwareTooWeak`.
    public func requiring(_ level: HardwareLevel) -> AccessRule { changed { $0.level = level } }

    /// The same rule, but one prompt authorises all uses of the store or key by this process within `time`.
    ///
    /// A lock, a sleep of the machine and a change of the enrolled fingers end the authorisation early. On Linux the daemon keeps
    /// the time, by the clock since boot.
    ///
    /// - Parameter time: At most 300 s, with a resolution of milliseconds; a longer or negative time throws `limitExceeded` where
    ///   the rule is used.
    /// - Returns: the rule.
    public func reusable(for time: Duration) -> AccessRule { changed { $0.reuse = asks ? time : .zero } }

    private func changed(_ change: (inout AccessRule) -> Void) -> AccessRule {
        var rule = self
        change(&rule)
        return rule
    }

    /// Whether a use shows a prompt.
    var asks: Bool {
        switch need {
        case .whenUnlocked, .afterFirstUnlock: false
        case .biometry, .biometryOrPasscode, .passcode, .biometryAndPasscode: true
        }
    }

    /// - Throws: ``TouchstoneError`` with `limitExceeded`, or `unsupported` for a rule that no backup can restore.
    func check() throws(TouchstoneError) {
        guard reuse >= .zero, reuse <= Self.longestReuse else { throw .limit("reusable: at most 300 s") }
        guard !acceptsBackups || !need.hasBiometry || acceptsLaterEnrolments else {
            throw .unsupported(
                "acceptingBackups: a rule with biometry has to be acceptingLaterEnrolments too"
            )
        }
    }

    /// - Throws: ``TouchstoneError`` as ``check()``, and `unsupported` for a rule with backups.
    func checkForKey() throws(TouchstoneError) {
        try check()
        guard !acceptsBackups else {
            throw .unsupported("acceptingBackups: a key never leaves its device")
        }
    }

    /// The rule of the marker of a store with this rule, which goes where the values go; nil for the usual one.
    var ofMarker: AccessRule? { acceptsBackups ? .afterFirstUnlock.acceptingBackups() : nil }
}

extension AccessRule: CustomStringConvertible {
    /// The rule in source form, such as `biometry.reusable(for: 60000 ms)`.
    public var description: String {
        var text = need.rawValue
        if acceptsLaterEnrolments { text += ".acceptingLaterEnrolments()" }
        if acceptsWeakBiometry { text += ".acceptingWeakBiometry()" }
        if acceptsBackups { text += ".acceptingBackups()" }
        if let level { text += ".requiring(\(level.storedName))" }
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
