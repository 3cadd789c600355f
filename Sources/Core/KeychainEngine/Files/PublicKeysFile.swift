public import KeychainModel

/// The public keys for the time before the first unlock, stored beside the keybag: 65 bytes each.
public struct PublicKeysFile: PublicKeyNotes {
    private let file: AtomicFile

    /// Keeps them in this directory.
    public init(directory: StoreDirectory) {
        file = AtomicFile(
            .publicKeys,
            in: directory,
            longest: NamedKey.most * HardwareKey.publicKeyOctetCount
        )
    }

    /// The keys of the file.
    public func read() throws(KeychainError) -> [[UInt8]]? {
        guard let octets = try file.read() else { return nil }
        let size = HardwareKey.publicKeyOctetCount
        guard octets.count.isMultiple(of: size) else { throw .damaged }
        return stride(from: 0, to: octets.count, by: size).map { Array(octets[$0..<($0 + size)]) }
    }

    /// Replaces the file.
    public func write(_ keys: [[UInt8]]) throws(KeychainError) {
        try file.replace(with: keys.prefix(NamedKey.most).flatMap(\.self))
    }
}
