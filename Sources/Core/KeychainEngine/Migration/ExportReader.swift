internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// Reads an export from start to end, and refuses any deviation from the format.
struct ExportReader {
    private let file: any ExportFile
    private let seal: ExportSeal
    private var offset = ExportSeal.headByteCount
    private var number: UInt64 = 0
    /// The items read so far.
    private(set) var items = 0

    /// Opens the head of an export.
    init(_ file: any ExportFile, code: Key) throws(KeychainError) {
        self.file = file
        seal = try ExportSeal(of: file, code: code)
    }

    /// Reads the first record.
    ///
    /// - Returns: false if the code is wrong or the head is damaged, which cannot be distinguished.
    mutating func start() throws(KeychainError) -> Bool {
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
        let progress = WorkProgress.current
        while true {
            progress?.note(offset, of: file.count)
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
                items += 1
                guard items <= MigrationLimits.mostItems else { throw .exportDamaged }
                try body(item, data)
            case .end(let count):
                guard count == items, offset == file.count else { throw .exportDamaged }
                return
            }
        }
    }

    private mutating func sealedRecord() throws(KeychainError) -> [UInt8] {
        let head = try file.read(from: offset, upTo: ExportSeal.lengthByteCount)
        guard head.count == ExportSeal.lengthByteCount else { throw .exportDamaged }
        let length = head.reduce(0) { $0 << 8 | Int($1) }
        guard (AEAD.overheadByteCount...(ExportSeal.longestRecord + AEAD.overheadByteCount)).contains(length)
        else { throw .exportDamaged }
        let sealed = try file.read(from: offset + head.count, upTo: length)
        guard sealed.count == length else { throw .exportDamaged }
        offset += head.count + length
        return sealed
    }
}
