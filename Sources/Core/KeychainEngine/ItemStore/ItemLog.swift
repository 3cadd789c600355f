internal import Glibc
internal import KeychainModel

/// SQLite's write-ahead log on the disk (sqlite.org/fileformat2, section 4), examined before SQLite opens it.
///
/// SQLite takes the first invalid frame for the end of the log, whether it results from a power cut or from a flipped
/// bit, and drops all frames after it. This type distinguishes the two. A power cut can leave only the last,
/// unacknowledged change incomplete; it never leaves less than the mark beside the log promises (``LogMark``), nor a later
/// change after an incomplete one.
struct ItemLog {
    /// The largest log in bytes that is read; larger ones are never written.
    static let longest = 1 << 31

    enum Verdict: Equatable {
        /// All acknowledged changes are present.
        case whole
        /// A flushed record is missing, or differs from what was written.
        case damaged
    }

    private static let headerByteCount = 32
    private static let frameHeaderByteCount = 24
    /// The least unit, in bytes, that a disk writes completely or not at all.
    private static let sectorByteCount = 512
    private static let magic: UInt32 = 0x377F_0682
    private static let formatVersion: UInt32 = 3_007_000

    private var octets: [UInt8]
    private let mark: LogMark?
    private let pageByteCount: Int
    private let slotByteCount: Int
    /// Whether checksums are computed over big-endian numbers.
    private var isBigEndian = false
    private var salts: [UInt8] = []
    private var isHeaderWhole = false

    init(_ octets: [UInt8], mark: LogMark? = nil, pageByteCount: Int = ItemSchema.pageByteCount) {
        self.octets = octets
        self.mark = mark
        self.pageByteCount = pageByteCount
        slotByteCount = Self.frameHeaderByteCount + pageByteCount
        readHeader()
    }

    /// The number of frames that fit into the file, whatever their content.
    var slotCount: Int { max(0, (octets.count - Self.headerByteCount) / slotByteCount) }

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

    private func salts(of slot: Int) -> ArraySlice<UInt8> { octets[(place(slot) + 8)..<(place(slot) + 16)] }

    private func hasOwnSalts(_ slot: Int) -> Bool { salts(of: slot).elementsEqual(salts) }

    /// The size of the database in pages after the commit that ends with the frame; 0 if it ends none.
    private func commit(_ slot: Int) -> UInt32 { number(place(slot) + 4) }

    /// Whether a commit ends with the frame, as far as its salts can prove that.
    ///
    /// They prove nothing if a sector boundary separates them from the commit field (one frame of 64): a power cut may
    /// leave former content in front and the rest of the frame.
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

    /// The frames that SQLite reads.
    private struct Readable {
        /// The first invalid one.
        var end = 0
        /// Where the last commit before that ends.
        var committed = 0
        /// The pages after that commit, by number, with their frames.
        var pages: [UInt32: Int] = [:]
    }

    private func readable() -> Readable {
        guard isHeaderWhole else { return Readable() }
        var result = Readable()
        var pending: [UInt32: Int] = [:]
        while fits(result.end) {
            pending[number(place(result.end))] = result.end
            result.end += 1
            guard commit(result.end - 1) != 0 else { continue }
            result.committed = result.end
            result.pages.merge(pending) { $1 }
            pending = [:]
        }
        guard result.committed > 0 else { return result }
        let count = commit(result.committed - 1)
        result.pages = result.pages.filter { $0.key <= count }
        return result
    }

    // MARK: Verdict

    /// What the log means for the items file.
    struct Judgement {
        var verdict = Verdict.damaged
        /// The size of the file in pages after the last commit in the log; nil if it has none.
        var pageCount: Int?
        /// The pages after that commit that are in the log, by number, with their frames.
        var pages: [UInt32: Int] = [:]
    }

    /// Judges the log; `page` reads a page of the database by number, from 1, and returns nil if there is none.
    func judged(page: (UInt32) -> [UInt8]?) -> Judgement {
        let readable = readable()
        if let mark {
            guard isHeaderWhole, salts == mark.salts, place(readable.committed) >= mark.end else {
                return Judgement()
            }
        }
        if isHeaderWhole {
            return Judgement(
                verdict: hasLater(from: readable.end) ? .damaged : .whole,
                pageCount: readable.committed == 0 ? nil : Int(commit(readable.committed - 1)),
                pages: readable.pages
            )
        }
        // The log was never started.
        guard octets.dropFirst(Self.headerByteCount).contains(where: { $0 != 0 }) else {
            return Judgement(verdict: .whole)
        }
        // A log being restarted has frames of the previous run, which must be in the database too.
        return Judgement(verdict: restored()?.isIn(page) == true ? .whole : .damaged)
    }

    /// Whether a later commit follows an invalid frame: a change is written only after the previous one was flushed.
    private func hasLater(from end: Int) -> Bool {
        guard end < slotCount else { return false }
        return (end..<slotCount).contains { hasOwnSalts($0) && hasOwnCommit($0) && fits($0 + 1) }
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

    /// Whether the database has all pages of the log: the log was checkpointed and is being restarted.
    private func isIn(_ page: (UInt32) -> [UInt8]?) -> Bool {
        readable().pages.allSatisfy { number, slot in
            let place = place(slot) + Self.frameHeaderByteCount
            return page(number)?.elementsEqual(octets[place..<(place + pageByteCount)]) ?? false
        }
    }

    // MARK: Saving

    /// A page in the log, for a repair.
    struct Frame {
        /// The number of the page; 0 if it cannot be told.
        let number: UInt32
        /// Whether it is part of the log up to its last commit, as far as can be told.
        let isCommitted: Bool
        /// Whether it is as it was written.
        let isWhole: Bool
        /// Whether it belongs to the last commit, and no later frame is damaged.
        let isOfLastCommit: Bool
    }

    /// All frames, those left from a former run of the log among them.
    ///
    /// For a log that is not whole, also those that SQLite does not read.
    func frames(isWhole: Bool) -> [Frame] {
        let log = isWhole ? self : withLikelySalts()
        let end = isWhole ? readable().committed : log.likelyEnd
        var isOfLastCommit = true
        let frames = (0..<slotCount).reversed().map { slot in
            let fits = log.fits(slot)
            let isCommitted = slot < end
            if isCommitted, !fits || slot < end - 1 && log.commit(slot) != 0 { isOfLastCommit = false }
            return Frame(
                number: log.hasOwnSalts(slot) || !isCommitted ? number(place(slot)) : 0,
                isCommitted: isCommitted,
                isWhole: fits,
                isOfLastCommit: isCommitted && isOfLastCommit
            )
        }
        return frames.reversed()
    }

    /// The page in a frame.
    func page(_ slot: Int) -> ArraySlice<UInt8> {
        octets[(place(slot) + Self.frameHeaderByteCount)..<place(slot + 1)]
    }

    /// If the header is damaged, the log with the salts of its mark, or of its first two frames that agree.
    ///
    /// Frames of a former run come after those of the present one.
    private func withLikelySalts() -> ItemLog {
        guard !isHeaderWhole else { return self }
        var log = self
        let first = (0..<max(0, slotCount - 1)).first { slot in
            salts(of: slot).elementsEqual(salts(of: slot + 1)) && salts(of: slot).contains { $0 != 0 }
        }
        log.salts = mark?.salts ?? first.map { Array(salts(of: $0)) } ?? []
        // As SQLite writes it.
        log.isBigEndian = 1.bigEndian == 1
        return log
    }

    /// The end of the last commit, in frames, whatever is damaged before it.
    private var likelyEnd: Int {
        let last = (0..<slotCount).last { hasOwnSalts($0) && commit($0) != 0 }
        let marked = mark.map { ($0.end - Self.headerByteCount) / slotByteCount } ?? 0
        return min(slotCount, max(marked, last.map { $0 + 1 } ?? 0))
    }
}

extension ItemLog {
    /// Reads the log and its mark; without a log file it is an empty one.
    init(in directory: StoreDirectory) throws(KeychainError) {
        let size = try directory.size(of: .itemsLog) ?? 0
        guard size <= Self.longest else { throw .damaged }
        let octets = try AtomicFile(.itemsLog, in: directory, longest: size).read() ?? []
        self.init(octets, mark: try LogMark.read(in: directory))
    }

    /// Whether SQLite has nothing to read from it.
    var isBlank: Bool { mark == nil && octets.allSatisfy { $0 == 0 } }

    /// Judges the log beside an open items file, before SQLite opens either.
    func judged(beside file: CInt) -> Judgement { judged { Self.page($0, of: file) } }

    /// Reads a page as SQLite does: from the log, or else from the file.
    func page(_ number: UInt32, _ judgement: Judgement, beside file: CInt) -> [UInt8]? {
        judgement.pages[number].map { Array(page($0)) } ?? Self.page(number, of: file)
    }

    private static func page(_ number: UInt32, of file: CInt) -> [UInt8]? {
        guard number > 0 else { return nil }
        var page = [UInt8](repeating: 0, count: ItemSchema.pageByteCount)
        let place = off_t(number - 1) * off_t(page.count)
        return unsafe pread(file, &page, page.count, place) == page.count ? page : nil
    }
}
