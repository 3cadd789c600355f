import Glibc

/// A finger that nobody has; each number is another one, with the same ridges for ever.
public struct TestFinger: Sendable, Hashable {
    let number: Int

    /// The finger of that number.
    public init(_ number: Int) { self.number = number }

    /// The finger that is enrolled unless a test says otherwise.
    public static let first = TestFinger(1)
    /// Another one.
    public static let second = TestFinger(2)
}

/// A fingerprint reader: fprintd with one of libfprint's virtual sensors.
public struct TestReader: Sendable {
    let sensor: PrivateBus.Sensor

    /// Takes pictures, which libfprint compares as those of a real sensor.
    public static let image = TestReader(sensor: .image)
    /// Keeps the prints itself and finds whose a touch is.
    public static let matchOnChip = TestReader(sensor: .storage)
    /// Can only compare a touch with one finger.
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
