internal import Foundation

/// The times by which tokens and keys are judged.
struct ServiceClock: Sendable {
    /// The wall-clock time, in seconds since 1970: tokens name times of it.
    var wallTime: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }
    /// The time for what is kept here, which nobody sets back.
    var steadyTime: @Sendable () -> ContinuousClock.Instant = { .now }
}
