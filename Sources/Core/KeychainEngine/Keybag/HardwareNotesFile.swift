public import KeychainModel

/// The notes of a hardware driver, stored beside the keybag.
public struct HardwareNotesFile: HardwareNotes {
    private let file: AtomicFile

    /// Keeps the notes in this directory.
    public init(directory: StoreDirectory) {
        file = AtomicFile(.hardwareNotes, in: directory, longest: 65_536)
    }

    /// The bytes of the file.
    public func read() throws(KeychainError) -> [UInt8] { try file.read() ?? [] }

    /// Replaces the file.
    public func write(_ notes: [UInt8]) throws(KeychainError) { try file.replace(with: notes) }
}
