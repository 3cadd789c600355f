internal import Glibc
internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// 32 random bytes of this keychain alone, in a file only its user can read.
///
/// Authenticates the records that are read before a passcode is known, and stands for the hardware where there
/// is none. Read when it is needed, so that no copy stays in memory.
struct DeviceKeyFile {
    private let directory: StoreDirectory
    private let file: AtomicFile

    init(directory: StoreDirectory) {
        self.directory = directory
        file = AtomicFile(.deviceKey, in: directory, longest: Key.byteCount)
    }

    /// The key for one use; nil when there is no file.
    func key(_ label: String) throws(KeychainError) -> Key? {
        guard var octets = try file.read() else { return nil }
        let isWhole = octets.count == Key.byteCount
        let device = Key(SecretBytes(consumingAndWiping: &octets))
        guard isWhole else { throw .damaged }
        return unsafe device.withUnsafeBytes { unsafe KeyDerivation.derive(label, from: $0, salt: []) }
    }

    /// Makes the file where there is none.
    func make() throws(KeychainError) {
        guard try !directory.has(StoreFile.deviceKey.rawValue) else { return }
        var octets = RandomBytes.array(count: Key.byteCount)
        defer { wipe(&octets) }
        try file.replace(with: octets)
    }
}
