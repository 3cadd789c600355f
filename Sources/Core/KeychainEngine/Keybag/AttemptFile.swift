internal import CBOR
internal import Glibc
public import KeychainModel
internal import Primitives
internal import SecretMemory

/// Keeps the counts of failed attempts in a file of two slots, written in turn.
///
/// Its blocks are allocated from the start, so that a full disk cannot prevent a count; a torn write leaves the other
/// slot intact; and each slot has a sequence number and an authentication code, so that it cannot be forged. The last
/// saved counts are also kept in memory, where an older copy of the file does not affect them.
public final class AttemptFile: AttemptStore {
    /// Slots are in separate pages: a torn sector affects only one of them.
    private static let slotDistance = 4096
    private static let slotByteCount = 512
    private static let codeByteCount = KeyedDigest.byteCount

    private struct Slot: Equatable {
        let index: Int
        let sequence: UInt64
        let record: AttemptRecord
    }

    /// The state of the file as known to this process.
    private struct Known {
        /// The slot read or written last; nil before the first access.
        var newest: Slot?
        /// The slot that may be in its place: it was written, and whether it reached the disk is unknown.
        var unsure: Slot?
        /// The file version that held it, if unchanged since.
        var version: FileVersion?
        /// Whether the file was ever found to hold other counts.
        var isTamperedWith = false
        /// Whether that was logged, and the file could not be rewritten yet.
        var isTold = false
    }

    private let directory: StoreDirectory
    private let audit: (any AuditLog)?
    private let gate = Guarded(Known())

    /// Keeps the counts of this directory's keybag; `audit` gets an event if the file was tampered with.
    public init(directory: StoreDirectory, audit: (any AuditLog)? = nil) {
        self.directory = directory
        self.audit = audit
    }

    /// Whether the file was found to be older than the last save, missing, or different since the start.
    public func isTamperedWith() -> Bool { gate.withLock { $0.isTamperedWith } }

    /// The least free space, in bytes, for storing an item or replacing a keybag.
    private static let leastRoom: UInt = 64 * 1024

    /// Why nothing can be saved: the file system is read-only or, with `needingRoom`, full; nil if saving is possible.
    public func fault(needingRoom: Bool) -> KeychainError? {
        var status = statvfs()
        guard unsafe fstatvfs(directory.descriptor, &status) == 0 else {
            return FileError.keychainError(errno)
        }
        if status.f_flag & UInt(ST_RDONLY) != 0 { return FileError.keychainError(EROFS) }
        // A file system without a size limit reports 0 of 0 blocks.
        let isFull = status.f_blocks > 0 && status.f_bavail * status.f_frsize < Self.leastRoom
        return needingRoom && isFull ? FileError.keychainError(ENOSPC) : nil
    }

    /// The counts as last saved; zeros before there is a keybag.
    ///
    /// Counts saved by this process take precedence over the file: an older, different or missing file is reported as
    /// tampering, and the file is rewritten.
    public func load() throws(KeychainError) -> AttemptRecord {
        try gate.withLock { known throws(KeychainError) in
            if let newest = known.newest, let version = known.version,
                version == FileVersion(of: StoreFile.attempts.rawValue, in: directory)
            {
                return newest.record
            }
            return try current(&known)?.record ?? AttemptRecord()
        }
    }

    /// Saves the counts durably, in the file that the name leads to, before it returns.
    ///
    /// - Throws: ``KeychainError`` with ``KnownCause/filesReplaced`` if it leads elsewhere meanwhile, or the directory was
    ///   moved away.
    public func save(_ record: AttemptRecord) throws(KeychainError) {
        try gate.withLock { known throws(KeychainError) in
            // What is counted where no name leads is forgotten with the process.
            try directory.checkPlace()
            let newest = try? current(&known)
            known.version = nil
            guard let newest, !known.isTold,
                let file = try directory.openFile(StoreFile.attempts.rawValue, O_RDWR), let key = try key()
            else {
                return try make(record, after: known.newest, &known)
            }
            defer { close(file) }
            let next = Slot(index: 1 - newest.index, sequence: newest.sequence &+ 1, record: record)
            known.unsure = next
            try AtomicFile.write(
                Self.encode(next, key: key),
                to: file,
                at: next.index * Self.slotDistance
            )
            guard fdatasync(file) == 0 else { throw FileError.keychainError(errno) }
            let path = directory.path + "/" + StoreFile.attempts.rawValue
            guard FileIdentity(atPath: path) == FileIdentity(of: file) else { throw .filesReplaced }
            (known.newest, known.unsure) = (next, nil)
        }
    }

    /// Forgets the counts with the keychain that they belong to.
    func forget() { gate.withLock { $0 = Known() } }

    /// Creates the file anew with these counts.
    func reset(_ record: AttemptRecord = AttemptRecord()) throws(KeychainError) {
        try gate.withLock { known throws(KeychainError) in try make(record, after: nil, &known) }
    }

    /// The present counts: those known to this process or, before the first access, those in the file; nil before there
    /// is a keybag.
    private func current(_ known: inout Known) throws(KeychainError) -> Slot? {
        known.version = nil
        guard let newest = known.newest else {
            known.newest = try read(&known.version)
            return known.newest
        }
        // Treat a damaged file like a missing one.
        let found = try? read(&known.version)
        if let found, found == newest { return newest }
        if let found, found == known.unsure {
            (known.newest, known.unsure) = (found, nil)
            return found
        }
        known.version = nil
        known.isTamperedWith = true
        if !known.isTold {
            let what =
                found.map { $0.sequence < newest.sequence ? "is older" : "is another" }
                ?? "is gone or damaged"
            audit?.record(
                AuditEvent(.tamperDetected, detail: "attempts: the file \(what); the counts are kept")
            )
            known.isTold = true
        }
        // If it cannot be written now, the next count is refused, and the one after it tries again.
        try? make(newest.record, after: newest, &known)
        return known.newest
    }

    /// The newest slot of the file; nil if there is neither a file nor a keybag.
    private func read(_ version: inout FileVersion?) throws(KeychainError) -> Slot? {
        guard let file = try directory.openFile(StoreFile.attempts.rawValue, O_RDONLY) else {
            guard try !KeybagFile.exists(in: directory) else { throw .damaged }
            return nil
        }
        defer { close(file) }
        let found = FileVersion(of: file)
        guard let key = try key() else { throw .damaged }
        guard let newest = Self.slots(in: file, key: key).max(by: { $0.sequence < $1.sequence }) else {
            throw .damaged
        }
        version = found.flatMap { $0.isSettled ? $0 : nil }
        return newest
    }

    private func make(
        _ record: AttemptRecord,
        after newest: Slot?,
        _ known: inout Known
    ) throws(KeychainError) {
        known.version = nil
        try DeviceKeyFile(directory: directory).make()
        guard let key = try key() else { throw .damaged }
        var octets = [UInt8](repeating: 0, count: 2 * Self.slotDistance)
        let first = (newest?.sequence ?? 0) &+ 1
        let slots = (0...1).map { Slot(index: $0, sequence: first &+ UInt64($0), record: record) }
        for slot in slots {
            let encoded = Self.encode(slot, key: key)
            let start = slot.index * Self.slotDistance
            octets.replaceSubrange(start..<(start + encoded.count), with: encoded)
        }
        known.unsure = slots[1]
        try AtomicFile(.attempts, in: directory, longest: octets.count).replace(with: octets)
        try directory.checkPlace()
        (known.newest, known.unsure) = (slots[1], nil)
        known.isTold = false
    }

    private func key() throws(KeychainError) -> Key? {
        try DeviceKeyFile(directory: directory).key(.attemptsCode)
    }

    private static func encode(_ slot: Slot, key: Key) -> [UInt8] {
        let record = slot.record
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: 8)
        writer.write(unsigned: 1)
        writer.write(slot.index)
        writer.write(unsigned: slot.sequence)
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
