import Glibc

/// A synthetic finger; each number is a different one, always with the same ridges.
public struct TestFinger: Sendable, Hashable {
    let number: Int

    /// The finger with the given number.
    public init(_ number: Int) { self.number = number }

    /// The finger that is enrolled unless a test says otherwise.
    public static let first = TestFinger(1)
    /// A different finger.
    public static let second = TestFinger(2)
}

/// A fingerprint reader: fprintd with one of libfprint's virtual sensors.
public struct TestReader: Sendable {
    let sensor: PrivateBus.Sensor

    /// Takes pictures, which libfprint compares as it does for a real sensor.
    public static let image = TestReader(sensor: .image)
    /// Stores the prints itself and identifies the finger.
    public static let matchOnChip = TestReader(sensor: .storage)
    /// Can only compare a touch with one enrolled finger, and is graded weak: only what accepts weak biometry accepts it.
    public static let weak = TestReader(sensor: .text)
}

/// A TPM 2.0 (swtpm) for the keys of a ``TemporaryKeychain``.
public struct TestChip: Sendable {
    /// A new chip, as its owner leaves it after taking possession.
    ///
    /// - Throws: ``TestKitError`` when swtpm is not installed.
    public static func prepared() throws(TestKitError) -> TestChip {
        let program = "/usr/bin/swtpm"
        guard unsafe access(program, X_OK) == 0 else { throw .missingProgram(program) }
        return TestChip()
    }
}
