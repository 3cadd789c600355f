import KeychainModel

/// Judges wrong passcodes: three without a delay, then growing delays, and the tenth closes the keybag.
///
/// A value without a clock: delays are measured in time since boot, which date and time zone do not affect.
struct PasscodeThrottle: Sendable {
    /// Whether a passcode may be tried now.
    enum Verdict: Sendable, Equatable {
        case mayTry
        /// Not before this duration has passed.
        case wait(Duration)
        /// Never: the recovery code is needed.
        case closed
    }

    /// The tenth wrong passcode closes the keybag (NIST SP 800-63B-4: at most 10 in a row).
    static let failuresBeforeClosing = 10
    /// The delay after the fourth to the ninth wrong passcode; 12 h 21 min in all.
    static let delays: [Int: Duration] = [
        4: .seconds(60), 5: .seconds(300), 6: .seconds(900), 7: .seconds(3600), 8: .seconds(10_800),
        9: .seconds(28_800),
    ]

    private let record: AttemptRecord

    init(_ record: AttemptRecord) {
        self.record = record
    }

    /// Wrong passcodes left before the keybag closes.
    var remaining: Int { max(0, Self.failuresBeforeClosing - max(0, record.passcodeFailures)) }

    /// Whether only the recovery code is left.
    var isClosed: Bool { remaining == 0 }

    /// Whether a passcode may be tried at `now`.
    func verdict(at now: BootTime) -> Verdict {
        guard !isClosed else { return .closed }
        guard let delay = Self.delays[record.passcodeFailures] else { return .mayTry }
        guard let last = record.lastPasscodeFailure, let passed = now.since(last), passed >= .zero else {
            return .wait(delay)
        }
        return passed >= delay ? .mayTry : .wait(delay - passed)
    }

    /// The record with a delay that starts again at `now`, if the machine was restarted during it.
    ///
    /// - Returns: nil if nothing has to be saved.
    func restarted(at now: BootTime) -> AttemptRecord? {
        guard !isClosed, Self.delays[record.passcodeFailures] != nil else { return nil }
        if let last = record.lastPasscodeFailure, let passed = now.since(last), passed >= .zero { return nil }
        var record = record
        record.lastPasscodeFailure = now
        return record
    }

    /// The record to save before a passcode is tried: the attempt counts as wrong until the passcode opens the keybag.
    func counted(at now: BootTime) -> AttemptRecord {
        var record = record
        record.passcodeFailures = max(0, record.passcodeFailures) + 1
        record.lastPasscodeFailure = now
        return record
    }

    /// The record after a right passcode, which also ends a lockout of biometry.
    static func opened(at now: BootTime) -> AttemptRecord {
        AttemptRecord(lastPasscodeSuccess: now, lastUse: now)
    }
}
