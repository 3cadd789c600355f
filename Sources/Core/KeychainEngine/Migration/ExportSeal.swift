internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// The format of a sealed export: a head, then records, each with its length (4 bytes, big-endian) and AES-256-GCM.
///
/// The head is `TchSExp`, the version, and 32 random bytes: the salt of the key. In an export to move (version 1) the key
/// is derived from the recovery code, and the items are opened and sealed anew. In a backup (version 2) it is derived from
/// the keychain's metadata key, and the items' data are as they are stored; the head goes on with ``BackupKeys`` and its
/// length, which the recovery code opens. A record is bound to the head and to its own number, and the last one has the
/// number of items: truncation, reordering and mixing are detected. See ``ExportRecord`` for the content of records.
struct ExportSeal {
    static let headByteCount = 40
    /// The longest record in clear, in bytes: an item's data and attributes, with room for the rest.
    ///
    /// Twice the attributes: items of earlier versions may have that many.
    static let longestRecord =
        ItemLimits.longestData + 2 * ItemLimits.mostAttributes * ItemLimits.longestAttribute + (1 << 16)
    static let lengthByteCount = 4

    static let magic = Array("TchSExp".utf8)
    /// The versions of the format.
    enum Version: UInt8 {
        case move = 1
        case backup = 2
    }

    let head: [UInt8]
    private let key: AEADKey
    private let label: [UInt8]

    /// Creates the seal of a new export to move.
    init(code: Key) {
        self.init(head: Self.newHead(.move), code: code)
    }

    /// Creates the seal of an export to move from its head.
    init(head: [UInt8], code: Key) {
        self.init(head: head, .export, code, Self.label(head))
    }

    /// Creates the seal of a new backup.
    init(backupOf record: KeybagRecord, _ context: ItemContext) {
        let keys = BackupKeys(of: record).encoded
        self.init(head: Self.newHead(.backup) + Self.length(of: keys) + keys, metadata: context.keys.metadata)
    }

    /// Creates the seal of a backup from its head.
    init(head: [UInt8], metadata: Key) {
        self.init(head: head, .backup, metadata, Self.backupLabel(head))
    }

    private init(head: [UInt8], _ use: KeyLabel, _ secret: Key, _ label: [UInt8]) {
        self.head = head
        self.label = label
        let salt = Array(head[(Self.magic.count + 1)..<Self.headByteCount])
        key = KeyDerivation.derive(use, from: [secret], salt: salt).symmetric
    }

    private static func newHead(_ version: Version) -> [UInt8] {
        magic + [version.rawValue] + RandomBytes.array(count: 32)
    }

    private static func length(of octets: [UInt8]) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: UInt32(octets.count) >> UInt32($0)) }
    }

    /// The beginning of the associated data of a backup's record.
    static func backupLabel(_ head: [UInt8]) -> [UInt8] {
        Array("touchstone 1 backup ".utf8) + SHA256.digest(of: head)
    }

    /// The beginning of a record's associated data.
    static func label(_ head: [UInt8]) -> [UInt8] {
        Array("touchstone 1 export ".utf8) + SHA256.digest(of: head)
    }

    /// Reads the head of an export up to its salt, and its version.
    static func head(of file: any ExportFile) throws(KeychainError) -> (octets: [UInt8], version: Version) {
        let head = try file.read(from: 0, upTo: headByteCount)
        guard head.starts(with: magic) else { throw KeychainError(.decode, cause: .notAnExport) }
        guard head.count == headByteCount else { throw .exportDamaged }
        guard let version = Version(rawValue: head[magic.count]) else {
            throw KeychainError(.notAvailable, cause: .newerExport)
        }
        return (head, version)
    }

    /// Seals a record, with its length.
    func sealed(_ record: borrowing SecretBuffer, number: UInt64) -> [UInt8] {
        let sealed = unsafe record.withUnsafeBytes {
            unsafe AEAD.seal($0, with: key, authenticating: binding(number))
        }
        return Self.length(of: sealed) + sealed
    }

    /// Opens a record given without its length.
    func open(_ sealed: [UInt8], number: UInt64) throws(AEAD.NotAuthentic) -> SecretBytes {
        try AEAD.opened(sealed, with: key, authenticating: binding(number))
    }

    private func binding(_ number: UInt64) -> [UInt8] {
        label + stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
    }
}

extension KeychainError {
    /// The export is damaged or incomplete.
    static var exportDamaged: KeychainError { KeychainError(.decode, cause: .exportDamaged) }
}
