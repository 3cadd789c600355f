/// A driver's notes of what it creates in hardware, written before each creation.
///
/// By them an object left behind by a crash is found again, and told from other programs' objects.
public protocol HardwareNotes: Sendable {
    /// The notes; empty if there are none.
    func read() throws(KeychainError) -> [UInt8]

    /// Replaces the notes, durably.
    func write(_ notes: [UInt8]) throws(KeychainError)
}
