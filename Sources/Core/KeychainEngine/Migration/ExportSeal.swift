internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// The format of a sealed export: a head of 40 bytes, then records, each with its length (4 bytes, big-endian) and
/// AES-256-GCM.
///
/// The head is `TchSExp`, the version (1), and 32 random bytes: the salt of the key, which is derived from the recovery
/// code. A record is bound to the head and to its own number, and the last one has the number of items: truncation,
/// reordering and mixing are detected. See ``ExportRecord`` for the content of records.
struct ExportSeal {
    static let headByteCount = 40
    /// The longest record in clear, in bytes: an item's data and attributes, with room for the rest.
    ///
    /// Twice the attributes: items of earlier versions may have that many.
    static let longestRecord =
        ItemLimits.longestData + 2 * ItemLimits.mostAttributes * ItemLimits.longestAttribute + (1 << 16)
    static let lengthByteCount = 4

    static let magic = Array("TchSExp".utf8)
    private static let version: UInt8 = 1

    let head: [UInt8]
    private let key: AEADKey
    private let label: [UInt8]

    /// Creates the seal of a new export.
    init(code: Key) {
        self.init(head: Self.magic + [Self.version] + RandomBytes.array(count: 32), code: code)
    }

    /// Creates the seal of an existing export from its head.
    init(of file: any ExportFile, code: Key) throws(KeychainError) {
        self.init(head: try Self.head(of: file), code: code)
    }

    private init(head: [UInt8], code: Key) {
        self.head = head
        key = KeyDerivation.derive(.export, from: [code], salt: Array(head.suffix(32))).symmetric
        label = Self.label(head)
    }

    /// The beginning of a record's associated data.
    static func label(_ head: [UInt8]) -> [UInt8] {
        Array("touchstone 1 export ".utf8) + SHA256.digest(of: head)
    }

    /// Reads the head of an export.
    static func head(of file: any ExportFile) throws(KeychainError) -> [UInt8] {
        let head = try file.read(from: 0, upTo: headByteCount)
        guard head.starts(with: magic) else { throw KeychainError(.decode, cause: .notAnExport) }
        guard head.count == headByteCount else { throw .exportDamaged }
        guard head[magic.count] == version else { throw KeychainError(.notAvailable, cause: .newerExport) }
        return head
    }

    /// Seals a record, with its length.
    func sealed(_ record: borrowing SecretBuffer, number: UInt64) -> [UInt8] {
        let sealed = unsafe record.withUnsafeBytes {
            unsafe AEAD.seal($0, with: key, authenticating: binding(number))
        }
        let length = UInt32(sealed.count)
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> UInt32($0)) } + sealed
    }

    /// Opens a record given without its length.
    func open(_ sealed: [UInt8], number: UInt64) throws(AEAD.NotAuthentic) -> SecretBytes {
        let binding = binding(number)
        guard sealed.count >= AEAD.overheadByteCount else { throw AEAD.NotAuthentic() }
        let count = sealed.count - AEAD.overheadByteCount
        return try unsafe SecretBytes(octetCount: count) { (octets) throws(AEAD.NotAuthentic) in
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: octets[..<count])
            do {
                try unsafe sealed.withUnsafeBytes { sealed in
                    try unsafe binding.withUnsafeBytes { binding in
                        try unsafe AEAD.open(sealed, with: key, authenticating: binding, into: room)
                    }
                }
            } catch {
                throw AEAD.NotAuthentic()
            }
        }
    }

    private func binding(_ number: UInt64) -> [UInt8] {
        label + stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
    }
}

extension KeychainError {
    /// The export is damaged or incomplete.
    static var exportDamaged: KeychainError { KeychainError(.decode, cause: .exportDamaged) }
}
