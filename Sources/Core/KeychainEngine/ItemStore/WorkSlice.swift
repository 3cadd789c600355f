/// A part of long work, after which others get their turn.
struct WorkSlice {
    /// How long a part takes: a tenth of what others may have to wait, since one row may take long.
    private static let length = Duration.milliseconds(5)

    private let end = ContinuousClock.now + length

    /// Whether there is time for another row.
    var goesOn: Bool { ContinuousClock.now < end }
}
