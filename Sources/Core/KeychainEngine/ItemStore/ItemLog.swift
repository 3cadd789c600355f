internal import CItemFiles
internal import Glibc
internal import KeychainModel

/// SQLite's write-ahead log on the disk (sqlite.org/fileformat2, section 4), examined before SQLite opens it.
///
/// SQLite takes the first invalid frame for the end of the log, whether it results from a power cut or from a flipped
/// bit, and drops all frames after it. This type distinguishes the two. A power cut can leave only the last,
/// unacknowledged change incomplete; it never leaves a later change or a flush mark (`CItemFiles.h`) after it.
struct ItemLog {
    /// The largest log in bytes that is read; larger ones are never written.
    static let longest = 1 << 31

    enum Verdict: Equatable {
        /// All acknowledged changes are present.
        case whole
        /// A flushed record differs from what was written.
        case damaged
    }

    private static let headerByteCount = 32
    private static let frameHeaderByteCount = 24
    /// The least unit, in bytes, that a disk writes completely or not at all.
    private static let sectorByteCount = 512
    private static let magic: UInt32 = 0x377F_0682
    private static let formatVersion: UInt32 = 3_007_000

    private(set) var octets: [UInt8]
    private let pageByteCount: Int
    private let slotByteCount: Int
    /// Whether checksums are computed over big-endian numbers.
    private var isBigEndian = false
    private var salts: [UInt8] = []
    private var isHeaderWhole = false

    init(_ octets: [UInt8], pageByteCount: Int = ItemSchema.pageByteCount) {
        self.octets = octets
        self.pageByteCount = pageByteCount
        slotByteCount = Self.frameHeaderByteCount + pageByteCount
        readHeader()
    }

    /// The number of frames that fit into the file, whatever their content.
    private var slotCount: Int { max(0, (octets.count - Self.headerByteCount) / slotByteCount) }

    // MARK: Numbers

    private struct Checksum: Equatable {
        var one: UInt32 = 0
        var two: UInt32 = 0
    }

    private func number(_ place: Int) -> UInt32 {
        octets[place..<(place + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private func checksum(at place: Int) -> Checksum {
        Checksum(one: number(place), two: number(place + 4))
    }

    /// Continues a checksum over a range of the file, whose length is a multiple of 8.
    private func sum(_ start: Checksum, _ range: Range<Int>) -> Checksum {
        unsafe octets.withUnsafeBytes { octets in
            var sum = start
            for place in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
                let one = unsafe octets.loadUnaligned(fromByteOffset: place, as: UInt32.self)
                let two = unsafe octets.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
                sum.one &+= (isBigEndian ? one.bigEndian : one.littleEndian) &+ sum.two
                sum.two &+= (isBigEndian ? two.bigEndian : two.littleEndian) &+ sum.one
            }
            return sum
        }
    }

    // MARK: Header

    private mutating func readHeader() {
        guard octets.count >= Self.headerByteCount else { return }
        isBigEndian = number(0) & 1 == 1
        salts = Array(octets[16..<24])
        isHeaderWhole =
            number(0) & ~1 == Self.magic && number(4) == Self.formatVersion
            && Int(number(8)) == pageByteCount && sum(Checksum(), 0..<24) == checksum(at: 24)
    }

    // MARK: Frames

    private func place(_ slot: Int) -> Int { Self.headerByteCount + slot * slotByteCount }

    private func hasOwnSalts(_ slot: Int) -> Bool {
        let place = place(slot) + 8
        return octets[place..<(place + 8)].elementsEqual(salts)
    }

    /// The size of the database in pages after the commit that ends with the frame; 0 if it ends none.
    private func commit(_ slot: Int) -> UInt32 { number(place(slot) + 4) }

    /// Whether a commit ends with the frame, as far as its salts can prove that.
    ///
    /// They prove nothing if a sector boundary separates them from the commit field (one frame of 64): a power cut may
    /// leave former content in front, such as the start of a mark, and the rest of the frame.
    private func hasOwnCommit(_ slot: Int) -> Bool {
        commit(slot) != 0 && (place(slot) + 8) % Self.sectorByteCount != 0
    }

    private func storedChecksum(_ slot: Int) -> Checksum { checksum(at: place(slot) + 16) }

    /// The checksum a frame should have after the previous frame, or the header.
    private func wantedChecksum(_ slot: Int) -> Checksum {
        let place = place(slot)
        let seed = slot == 0 ? checksum(at: 24) : storedChecksum(slot - 1)
        let header = sum(seed, place..<(place + 8))
        return sum(header, (place + Self.frameHeaderByteCount)..<(place + slotByteCount))
    }

    /// Whether the frame is valid and continues the one before it.
    private func fits(_ slot: Int) -> Bool {
        slot < slotCount && hasOwnSalts(slot) && number(place(slot)) != 0
            && wantedChecksum(slot) == storedChecksum(slot)
    }

    /// Whether a flush mark of this log is in the place of this frame.
    private func flushed(markedAt slot: Int) -> Bool {
        let place = place(slot)
        guard place + Int(CITEMFILES_MARK_SIZE) <= octets.count else { return false }
        let mark = Array(octets[place..<(place + Int(CITEMFILES_MARK_SIZE))])
        guard mark.starts(with: CITEMFILES_MARK.utf8), mark[16..<24].elementsEqual(salts) else {
            return false
        }
        let end = mark[8..<16].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let sum = mark[24..<32].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let wanted = unsafe citemfiles_mark_checksum(mark)
        return end == UInt64(place) && sum == wanted
    }

    // MARK: Verdict

    /// Judges the log; `page` reads a page of the database by number, from 1, and returns nil if there is none.
    func verdict(page: (UInt32) -> [UInt8]?) -> Verdict {
        guard octets.count >= Self.headerByteCount else { return .whole }
        guard isHeaderWhole else {
            // The log was never started.
            guard slotCount > 0, number(place(0)) != 0 else { return .whole }
            // A log being restarted has frames of the previous run, which must be in the database too.
            guard let restored = restored() else { return .damaged }
            return restored.isIn(page) ? .whole : .damaged
        }
        var end = 0
        var committed = 0
        while fits(end) {
            end += 1
            if commit(end - 1) != 0 { committed = end }
        }
        return hasLater(than: committed, from: end) ? .damaged : .whole
    }

    /// Whether flushed frames follow the valid commits; `end` is the first invalid frame.
    private func hasLater(than committed: Int, from end: Int) -> Bool {
        guard end <= slotCount else { return false }
        for slot in end...slotCount {
            if slot > committed, flushed(markedAt: slot) { return true }
            // A change is written only after the previous one was flushed, so a valid later frame proves that.
            guard slot + 1 < slotCount, hasOwnSalts(slot), hasOwnCommit(slot) else { continue }
            if fits(slot + 1) { return true }
        }
        return false
    }

    /// The log with a reconstructed header, if its header is invalid and the frames determine it.
    private func restored() -> ItemLog? {
        guard slotCount > 0 else { return nil }
        let own = Array(octets[(place(0) + 8)..<(place(0) + 16)])
        var stored = self
        stored.salts = own
        stored.octets.replaceSubrange(16..<24, with: own)
        for isBigEndian in [false, true] {
            stored.isBigEndian = isBigEndian
            stored.put(Self.magic | (isBigEndian ? 1 : 0), at: 0)
            stored.put(Self.formatVersion, at: 4)
            stored.put(UInt32(pageByteCount), at: 8)
            // The frames depend only on the header's checksum: try the stored checksum, then the one computed from the
            // header.
            if stored.fits(0) { return stored.withHeader() }
            var computed = stored
            computed.octets.replaceSubrange(12..<16, with: octets[12..<16])
            computed.seal()
            if computed.fits(0) { return computed.withHeader() }
        }
        return nil
    }

    private mutating func seal() {
        let sum = sum(Checksum(), 0..<24)
        put(sum.one, at: 24)
        put(sum.two, at: 28)
    }

    private mutating func put(_ number: UInt32, at place: Int) {
        for index in 0..<4 {
            octets[place + index] = UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32(index)))
        }
    }

    private func withHeader() -> ItemLog {
        var log = self
        log.isHeaderWhole = true
        return log
    }

    /// The pages after the last valid commit, by number, with their frames.
    private var committedPages: [UInt32: Int] {
        var pages: [UInt32: Int] = [:]
        var pending: [UInt32: Int] = [:]
        var slot = 0
        while fits(slot) {
            pending[number(place(slot))] = slot
            let count = commit(slot)
            if count != 0 {
                pages.merge(pending) { $1 }
                pages = pages.filter { $0.key <= count }
                pending = [:]
            }
            slot += 1
        }
        return pages
    }

    /// Whether the database has all pages of the log: the log was checkpointed and is being restarted.
    private func isIn(_ page: (UInt32) -> [UInt8]?) -> Bool {
        committedPages.allSatisfy { number, slot in
            let place = place(slot) + Self.frameHeaderByteCount
            return page(number)?.elementsEqual(octets[place..<(place + pageByteCount)]) ?? false
        }
    }

    // MARK: Saving

    /// The content of a damaged log, as a log that SQLite reads to its end.
    ///
    /// A single wrong bit in a frame is located and corrected. For a frame with more damage, its page is kept as it is:
    /// the seals of the items and of their set decide which of it is valid.
    ///
    /// - Returns: the log, and whether it equals what was written; nil if nothing can be recovered.
    func salvaged() -> (octets: [UInt8], isExact: Bool)? {
        guard var log = isHeaderWhole ? self : restored() ?? guessed() else { return nil }
        var isExact = true
        var end = 0
        for slot in 0..<log.slotCount where log.hasOwnSalts(slot) || log.flushed(markedAt: slot + 1) {
            end = slot + 1
        }
        // Frames after the last mark were never acknowledged.
        if let flushed = (0...log.slotCount).last(where: { log.flushed(markedAt: $0) }), flushed > 0 {
            end = flushed
        }
        guard end > 0 else { return nil }
        var slot = 0
        while slot < end {
            if !log.fits(slot), !log.correct(slot) {
                isExact = false
                break
            }
            slot += 1
        }
        if !isExact { end = log.reseal(asTheyAre: slot, to: end) }
        log.octets = Array(log.octets[..<log.place(end)])
        log.putHeader()
        return (log.octets, isExact)
    }

    /// A new header for frames that match no header.
    private func guessed() -> ItemLog? {
        guard slotCount > 0 else { return nil }
        var log = self
        log.salts = Array(octets[(place(0) + 8)..<(place(0) + 16)])
        log.isBigEndian = false
        log.putHeader()
        return log.withHeader()
    }

    private mutating func putHeader() {
        guard !ItemLog(octets, pageByteCount: pageByteCount).isHeaderWhole else { return }
        // A different header checksum requires new checksums of all frames.
        put(Self.magic | (isBigEndian ? 1 : 0), at: 0)
        put(Self.formatVersion, at: 4)
        put(UInt32(pageByteCount), at: 8)
        octets.replaceSubrange(16..<24, with: salts)
        seal()
        reseal(from: 0, to: slotCount)
    }

    /// Recomputes the checksums of damaged frames, removing frames without a page number.
    ///
    /// - Returns: the new end of the frames.
    private mutating func reseal(asTheyAre first: Int, to end: Int) -> Int {
        let rest = (first..<end).filter { number(place($0)) != 0 }
            .map { Array(octets[place($0)..<place($0 + 1)]) }
        octets = Array(octets[..<place(first)]) + rest.joined()
        reseal(from: first, to: first + rest.count)
        return first + rest.count
    }

    /// Recomputes the checksums of frames.
    private mutating func reseal(from first: Int, to end: Int) {
        for slot in first..<end {
            let place = place(slot)
            octets.replaceSubrange((place + 8)..<(place + 16), with: salts)
            let sum = wantedChecksum(slot)
            put(sum.one, at: place + 16)
            put(sum.two, at: place + 20)
        }
    }

    /// Flips the single bit that makes a frame valid.
    ///
    /// - Returns: false, with nothing changed, if there is none.
    private mutating func correct(_ slot: Int) -> Bool {
        let place = place(slot)
        guard place + slotByteCount <= octets.count else { return false }
        let former = Array(octets[place..<(place + Self.frameHeaderByteCount)])
        octets.replaceSubrange((place + 8)..<(place + 16), with: salts)
        if fits(slot) { return true }
        let wanted = wantedChecksum(slot)
        let stored = storedChecksum(slot)
        // If the next frame, which continues from the checksum stored here, is valid, the stored checksum is right.
        let isStoredRight = fits(slot + 1)
        let distance = (wanted.one ^ stored.one).nonzeroBitCount + (wanted.two ^ stored.two).nonzeroBitCount
        if !isStoredRight, distance == 1 {
            put(wanted.one, at: place + 16)
            put(wanted.two, at: place + 20)
            return true
        }
        if turnOverBit(in: place..<(place + 8), slot, stored) { return true }
        if turnOverBit(in: (place + Self.frameHeaderByteCount)..<(place + slotByteCount), slot, stored) {
            return true
        }
        octets.replaceSubrange(place..<(place + Self.frameHeaderByteCount), with: former)
        return false
    }

    private mutating func turnOverBit(in range: Range<Int>, _ slot: Int, _ stored: Checksum) -> Bool {
        for octet in range {
            for bit in 0..<8 {
                octets[octet] ^= 1 << UInt8(bit)
                if wantedChecksum(slot) == stored { return true }
                octets[octet] ^= 1 << UInt8(bit)
            }
        }
        return false
    }
}

extension ItemLog {
    /// Judges the log beside the items file, before SQLite opens either.
    static func verdict(in directory: StoreDirectory) throws(KeychainError) -> Verdict {
        guard let octets = try read(in: directory) else { return .whole }
        guard let file = try directory.openFile(StoreFile.items.rawValue, O_RDONLY) else { return .whole }
        defer { close(file) }
        return ItemLog(octets).verdict { number in
            guard number > 0 else { return nil }
            var page = [UInt8](repeating: 0, count: ItemSchema.pageByteCount)
            let place = off_t(number - 1) * off_t(page.count)
            return unsafe pread(file, &page, page.count, place) == page.count ? page : nil
        }
    }

    /// The log's bytes; nil if there is no log.
    static func read(in directory: StoreDirectory) throws(KeychainError) -> [UInt8]? {
        guard let size = try directory.size(of: .itemsLog), size > 0 else { return nil }
        guard size <= longest else { throw .damaged }
        return try AtomicFile(.itemsLog, in: directory, longest: size).read()
    }
}
