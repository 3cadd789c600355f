/// What the verification of an imported hash may cost at most, since everybody can cause one: about two seconds of a processor.
public enum CostLimit {
    /// The memory, in bytes.
    public static let memory = 256 << 20
    /// Blocks of 128 bytes that scrypt may mix: N · r · p.
    static let blocks = 1 << 23
    /// The binary logarithm of bcrypt's rounds.
    static let bcrypt = 15
    /// KiB that argon2 may fill: m · t.
    static let filled = 1 << 21
    /// Lanes of argon2, and passes of scrypt.
    static let lanes = 16

    /// The memory limit for messages.
    static let text = "\(memory >> 20) MiB"

    /// Checks the cost of scrypt or yescrypt.
    ///
    /// - Parameters:
    ///   - blocks: the blocks of 128 bytes that are held in memory: N · r.
    ///   - passes: how often: p.
    /// - Throws: ``ImportedPassword/Refusal``.
    static func check(blocks: Int, passes: Int) throws(ImportedPassword.Refusal) {
        guard blocks <= memory / 128, passes <= lanes, blocks * passes <= self.blocks else { throw exceeded }
    }

    /// The refusal of scrypt or yescrypt that costs too much.
    static let exceeded = ImportedPassword.Refusal(
        description: "costs too much: at most \(text), p = \(lanes) and N · r · p = \(blocks)"
    )
}
