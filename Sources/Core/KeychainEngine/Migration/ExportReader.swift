internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// Reads an export from start to end, and refuses any deviation from the format.
struct ExportReader {
    /// What follows the first record.
    enum Entry: ~Copyable {
        case item(ItemContent, data: SecretBytes?)
        case end
    }

    private let file: any ExportFile
    /// Nil if the code does not open the backup's keys.
    private let seal: ExportSeal?
    /// Opens the items of a backup; nil in an export to move.
    private let keys: RecoveredKeys?
    private var offset: Int
    private var number: UInt64 = 0
    /// The items read so far.
    private(set) var items = 0

    /// Opens the head of an export.
    init(_ file: any ExportFile, code: Key) throws(KeychainError) {
        self.file = file
        let (head, version) = try ExportSeal.head(of: file)
        switch version {
        case .move:
            keys = nil
            seal = ExportSeal(head: head, code: code)
            offset = head.count
        case .backup:
            let record = try Self.record(of: file, at: head.count, 1...BackupKeys.longest)
            let keys = try BackupKeys(decoding: record.octets).opened(with: code)
            let whole = try file.read(from: 0, upTo: record.end)
            seal = keys.map { ExportSeal(head: whole, metadata: $0.context.keys.metadata) }
            self.keys = keys
            offset = record.end
        }
    }

    /// Opens an export behind its first record.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` if the code is wrong or the head is damaged.
    init(started file: any ExportFile, code: Key) throws(KeychainError) {
        try self.init(file, code: code)
        guard try start() else { throw KeychainError(.authFailed) }
    }

    /// Reads the first record.
    ///
    /// - Returns: false if the code is wrong or the head is damaged, which cannot be distinguished.
    mutating func start() throws(KeychainError) -> Bool {
        guard let seal else { return false }
        let sealed = try sealedRecord()
        let record: SecretBytes
        do {
            record = try seal.open(sealed, number: number)
        } catch {
            return false
        }
        guard case .start = try ExportRecord(decoding: record) else { throw .exportDamaged }
        number += 1
        return true
    }

    /// Calls `body` with each item in order; the file must end where the export ends.
    mutating func forEachItem(
        _ body: (ItemContent, borrowing SecretBytes?) throws(KeychainError) -> Void
    ) throws(KeychainError) {
        while true {
            noteProgress()
            switch try next() {
            case .item(let item, let data): try body(item, data)
            case .end: return
            }
        }
    }

    /// The bytes that were not read yet.
    var octetsLeft: Int { file.count - offset }

    /// Tells the request under way how far the export was read.
    func noteProgress() { WorkProgress.current?.note(offset, of: file.count) }

    /// Reads the next item; the file must end where the export ends.
    mutating func next() throws(KeychainError) -> Entry {
        guard let seal else { throw .exportDamaged }
        let record: SecretBytes
        do {
            record = try seal.open(try sealedRecord(), number: number)
        } catch let error as KeychainError {
            throw error
        } catch {
            throw .exportDamaged
        }
        number += 1
        switch try ExportRecord(decoding: record) {
        case .start: throw .exportDamaged
        case .item(let item, let data):
            guard keys == nil else { throw .exportDamaged }
            try countItem()
            return .item(item, data: data)
        case .stored(let item, let parts):
            guard let keys else { throw .exportDamaged }
            try countItem()
            return .item(item, data: try keys.open(parts, item.accessControl))
        case .end(let count):
            guard count == items, offset == file.count else { throw .exportDamaged }
            return .end
        }
    }

    private mutating func countItem() throws(KeychainError) {
        items += 1
        guard items <= MigrationLimits.mostItems else { throw .exportDamaged }
    }

    private mutating func sealedRecord() throws(KeychainError) -> [UInt8] {
        let lengths = AEAD.overheadByteCount...(ExportSeal.longestRecord + AEAD.overheadByteCount)
        let record = try Self.record(of: file, at: offset, lengths)
        offset = record.end
        return record.octets
    }

    /// The bytes behind a length, and where they end.
    private static func record(
        of file: any ExportFile,
        at offset: Int,
        _ lengths: ClosedRange<Int>
    ) throws(KeychainError) -> (octets: [UInt8], end: Int) {
        let head = try file.read(from: offset, upTo: ExportSeal.lengthByteCount)
        guard head.count == ExportSeal.lengthByteCount else { throw .exportDamaged }
        let length = head.reduce(0) { $0 << 8 | Int($1) }
        guard lengths.contains(length) else { throw .exportDamaged }
        let octets = try file.read(from: offset + head.count, upTo: length)
        guard octets.count == length else { throw .exportDamaged }
        return (octets, offset + head.count + length)
    }
}
