internal import CBOR
internal import Glibc
public import KeychainModel
internal import Synchronization

/// Keeps the counts of failed attempts in a file of two slots, written in turn.
///
/// Its blocks are there from the start, so that a full disk cannot stop a count; a torn write leaves the other
/// slot; and each slot carries its number and a code, so that neither can be made up.
public final class AttemptFile: AttemptStore {
    /// Slots lie in pages of their own: a torn sector touches one of them.
    private static let slotDistance = 4096
    private static let slotByteCount = 512
    private static let codeByteCount = KeyedDigest.byteCount

    private struct Slot {
        let index: Int
        let sequence: UInt64
        let record: AttemptRecord
    }

    /// What a file held that has not been touched since.
    private struct Seen {
        let version: FileVersion
        let record: AttemptRecord
    }

    private let directory: StoreDirectory
    private let gate = Mutex<Seen?>(nil)

    /// Keeps the counts of this directory's keybag.
    public init(directory: StoreDirectory) {
        self.directory = directory
    }

    /// The counts as last saved; zeros before there is a keybag.
    public func load() throws(KeychainError) -> AttemptRecord {
        try gate.withLock { seen throws(KeychainError) in
            if let seen, seen.version == FileVersion(of: StoreFile.attempts.rawValue, in: directory) {
                return seen.record
            }
            seen = nil
            guard let file = try directory.openFile(StoreFile.attempts.rawValue, O_RDONLY) else {
                guard try !directory.has(StoreFile.keybag.rawValue) else { throw .damaged }
                return AttemptRecord()
            }
            defer { close(file) }
            let version = FileVersion(of: file)
            guard let key = try key() else { throw .damaged }
            guard let newest = Self.slots(in: file, key: key).max(by: { $0.sequence < $1.sequence }) else {
                throw .damaged
            }
            if let version, version.isSettled { seen = Seen(version: version, record: newest.record) }
            return newest.record
        }
    }

    /// Saves the counts durably before it returns.
    public func save(_ record: AttemptRecord) throws(KeychainError) {
        try gate.withLock { seen throws(KeychainError) in
            seen = nil
            guard let file = try directory.openFile(StoreFile.attempts.rawValue, O_RDWR), let key = try key()
            else {
                return try make(record)
            }
            defer { close(file) }
            let newest = Self.slots(in: file, key: key).max { $0.sequence < $1.sequence }
            let index = newest.map { 1 - $0.index } ?? 0
            let sequence = (newest?.sequence ?? 0) &+ 1
            let octets = Self.encode(record, index: index, sequence: sequence, key: key)
            try AtomicFile.write(octets, to: file, at: index * Self.slotDistance)
            guard fdatasync(file) == 0 else { throw FileError.keychainError(errno) }
        }
    }

    /// Makes the file anew with these counts.
    func reset(_ record: AttemptRecord = AttemptRecord()) throws(KeychainError) {
        try gate.withLock { seen throws(KeychainError) in
            seen = nil
            try make(record)
        }
    }

    private func make(_ record: AttemptRecord) throws(KeychainError) {
        let device = DeviceKeyFile(directory: directory)
        try device.make()
        guard let key = try key() else { throw .damaged }
        var octets = [UInt8](repeating: 0, count: 2 * Self.slotDistance)
        for index in 0...1 {
            let slot = Self.encode(record, index: index, sequence: UInt64(index) + 1, key: key)
            let start = index * Self.slotDistance
            octets.replaceSubrange(start..<(start + slot.count), with: slot)
        }
        try AtomicFile(.attempts, in: directory, longest: octets.count).replace(with: octets)
    }

    private func key() throws(KeychainError) -> Key? {
        try DeviceKeyFile(directory: directory).key("attempts")
    }

    private static func encode(_ record: AttemptRecord, index: Int, sequence: UInt64, key: Key) -> [UInt8] {
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: 8)
        writer.write(unsigned: 1)
        writer.write(index)
        writer.write(unsigned: sequence)
        writer.write(record.biometryFailures)
        writer.write(record.passcodeFailures)
        for time in [record.lastPasscodeFailure, record.lastPasscodeSuccess, record.lastUse] {
            guard let time else {
                writer.writeNull()
                continue
            }
            writer.writeArrayHead(count: 2)
            writer.write(text: String(decoding: time.bootID.utf8.prefix(64), as: UTF8.self))
            writer.write(time.nanoseconds)
        }
        var octets = writer.finish()
        octets += [UInt8](repeating: 0, count: slotByteCount - codeByteCount - octets.count)
        return octets + KeyedDigest.of(octets, key: key)
    }

    private static func slots(in file: CInt, key: Key) -> [Slot] {
        (0...1).compactMap { index in
            var octets = [UInt8](repeating: 0, count: slotByteCount)
            let count = unsafe pread(file, &octets, octets.count, off_t(index * slotDistance))
            guard count == octets.count else { return nil }
            let content = Array(octets.dropLast(codeByteCount))
            guard KeyedDigest.isValid(Array(octets.suffix(codeByteCount)), of: content, key: key) else {
                return nil
            }
            return try? decode(content, index: index)
        }
    }

    private static func decode(_ octets: [UInt8], index: Int) throws -> Slot {
        var limits = CBORLimits(depth: 2)
        limits.allowsTrailingOctets = true
        return try CBORReader.read(octets, limits: limits) { reader in
            guard try reader.readArrayHead() == 8, try reader.readUnsigned() == 1,
                try reader.readUnsigned() == UInt64(index)
            else { throw KeychainError.damaged }
            let sequence = try reader.readUnsigned()
            var record = AttemptRecord()
            record.biometryFailures = Int(clamping: try reader.readInteger())
            record.passcodeFailures = Int(clamping: try reader.readInteger())
            record.lastPasscodeFailure = try readTime(&reader)
            record.lastPasscodeSuccess = try readTime(&reader)
            record.lastUse = try readTime(&reader)
            return Slot(index: index, sequence: sequence, record: record)
        }
    }

    private static func readTime(_ reader: inout CBORReader) throws -> BootTime? {
        if try reader.readNullIfPresent() { return nil }
        guard try reader.readArrayHead() == 2 else { throw KeychainError.damaged }
        let bootID = try reader.readText()
        return BootTime(bootID: bootID, nanoseconds: try reader.readInteger())
    }
}
