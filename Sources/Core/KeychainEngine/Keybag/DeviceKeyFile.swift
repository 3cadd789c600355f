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

    /// The key derived for one purpose; nil if there is no file, or a broken one: with another length, empty of content, or
    /// unreadable.
    func key(_ label: KeyLabel) throws(KeychainError) -> Key? {
        var octets: [UInt8]
        do throws(KeychainError) {
            guard let read = try file.read() else { return nil }
            octets = read
        } catch {
            guard error.status == .decode || error.status == .io else { throw error }
            return nil
        }
        let isWhole = octets.count == Key.byteCount && octets.contains { $0 != 0 }
        let device = Key(SecretBytes(consumingAndWiping: &octets))
        guard isWhole else { return nil }
        return unsafe device.withUnsafeBytes { unsafe KeyDerivation.derive(label, from: $0, salt: []) }
    }

    /// Creates the file for a keychain that is being made, if it does not exist or is broken.
    ///
    /// Beside a keybag only the recovery code replaces it: the keybag's code and its seal are under the key that was there,
    /// which a disk that failed once may return again.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` if there is no key, but a keybag.
    func make() throws(KeychainError) {
        guard try key(.keybagCode) == nil else { return }
        guard try !KeybagFile.exists(in: directory) else { throw .damaged }
        try renew()
    }

    /// Replaces the key: codes and seals under the former one are invalid from now on.
    func renew() throws(KeychainError) {
        var octets = RandomBytes.array(count: Key.byteCount)
        defer { wipe(&octets) }
        try file.replace(with: octets)
    }
}
