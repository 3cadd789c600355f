internal import Glibc
internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// 32 random bytes that belong to this keychain, in a file that only its user can read.
///
/// Authenticates the records that are read before a passcode is entered, and takes the place of hardware where there is
/// none. Read for each use, so that no copy stays in memory.
struct DeviceKeyFile {
    private let directory: StoreDirectory
    private let file: AtomicFile

    init(directory: StoreDirectory) {
        self.directory = directory
        file = AtomicFile(.deviceKey, in: directory, longest: Key.byteCount)
    }

    /// The key derived for one purpose; nil if there is no file.
    func key(_ label: String) throws(KeychainError) -> Key? {
        guard var octets = try file.read() else { return nil }
        let isWhole = octets.count == Key.byteCount
        let device = Key(SecretBytes(consumingAndWiping: &octets))
        guard isWhole else { throw .damaged }
        return unsafe device.withUnsafeBytes { unsafe KeyDerivation.derive(label, from: $0, salt: []) }
    }

    /// Creates the file if it does not exist.
    func make() throws(KeychainError) {
        guard try !directory.has(StoreFile.deviceKey.rawValue) else { return }
        var octets = RandomBytes.array(count: Key.byteCount)
        defer { wipe(&octets) }
        try file.replace(with: octets)
    }
}
