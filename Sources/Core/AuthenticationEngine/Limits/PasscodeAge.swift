import KeychainModel

/// Judges whether the passcode must be entered again before a finger counts.
///
/// After a restart of the machine or the daemon the keybag is locked, which requires the passcode anyway.
struct PasscodeAge: Sendable {
    /// A finger alone counts for this long after the last use.
    static let longestIdleTime = Duration.seconds(48 * 3600)
    /// A finger alone counts for this long after the last passcode, however often it is used; stricter than Apple's 156
    /// h, because the sensors have no certified class.
    static let longestTime = Duration.seconds(72 * 3600)

    private let record: AttemptRecord

    init(_ record: AttemptRecord) {
        self.record = record
    }

    /// Whether the passcode is due at `now`.
    func isDue(at now: BootTime) -> Bool {
        guard let shown = record.lastPasscodeSuccess, let age = now.since(shown), age >= .zero,
            let idle = now.since(record.lastUse ?? shown), idle >= .zero
        else { return true }
        return age >= Self.longestTime || idle >= Self.longestIdleTime
    }
}
