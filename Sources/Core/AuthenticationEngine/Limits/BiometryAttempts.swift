import KeychainModel

/// Judges the fingers that did not open: five, then the passcode.
///
/// Holds no store: it is made from a record and returns the record to save.
struct BiometryAttempts: Sendable {
    /// Five counted failures, as Apple documents for Touch ID and Face ID.
    static let failuresBeforeLockout = 5

    private let record: AttemptRecord

    init(_ record: AttemptRecord) {
        self.record = record
    }

    /// Fingers that may still fail before biometry is off.
    var remaining: Int { max(0, Self.failuresBeforeLockout - max(0, record.biometryFailures)) }

    /// Whether biometry waits for the passcode.
    var isLockedOut: Bool { remaining == 0 }

    /// The record to save before the sensor is armed: the attempt counts as failed until it succeeds.
    func counted() -> AttemptRecord {
        var record = record
        record.biometryFailures = max(0, record.biometryFailures) + 1
        return record
    }

    /// The record after an attempt that no finger took part in.
    func refunded() -> AttemptRecord {
        var record = record
        record.biometryFailures = max(0, record.biometryFailures - 1)
        return record
    }

    /// The record after a match; it says nothing about passcodes.
    func matched(at now: BootTime) -> AttemptRecord {
        var record = record
        record.biometryFailures = 0
        record.lastUse = now
        return record
    }
}
