/// Where a driver notes, before it makes anything in hardware, what it makes there: what a machine that stopped in
/// between left behind is found again, and told from what belongs to others.
public protocol HardwareNotes: Sendable {
    /// The notes; empty where there are none.
    func read() throws(KeychainError) -> [UInt8]

    /// Puts notes in the place of those before, durably.
    func write(_ notes: [UInt8]) throws(KeychainError)
}
