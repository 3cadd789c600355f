import KeychainModel

/// Judges failed fingers: after five the passcode is required.
///
/// A value without a store: created from a record, it returns the record to save.
struct BiometryAttempts: Sendable {
    /// Five counted failures, as Apple documents for Touch ID and Face ID.
    static let failuresBeforeLockout = 5

    private let record: AttemptRecord

    init(_ record: AttemptRecord) {
        self.record = record
    }

    /// Failed fingers left before biometry is locked out.
    var remaining: Int { max(0, Self.failuresBeforeLockout - max(0, record.biometryFailures)) }

    /// Whether biometry is locked out until the passcode is entered.
    var isLockedOut: Bool { remaining == 0 }

    /// The record to save before the sensor is armed: the attempt counts as failed until it succeeds.
    func counted() -> AttemptRecord {
        var record = record
        record.biometryFailures = max(0, record.biometryFailures) + 1
        return record
    }

    /// The record after an attempt in which no finger touched the sensor.
    func refunded() -> AttemptRecord {
        var record = record
        record.biometryFailures = max(0, record.biometryFailures - 1)
        return record
    }

    /// The record after a match; the passcode's counts are unchanged.
    func matched(at now: BootTime) -> AttemptRecord {
        var record = record
        record.biometryFailures = 0
        record.lastUse = now
        return record
    }
}
