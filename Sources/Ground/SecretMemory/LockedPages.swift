import CLinux
import Glibc

/// Memory pages for secrets: locked, excluded from core dumps, zero in a forked child.
///
/// Small blocks come from regions of 64 KiB that stay mapped for the life of the process, at most 3 MiB of them. Each
/// block is wiped before it is free again, so that a test can inspect a page after its owner released it and find
/// zeros. A block larger than 16 KiB, or one for which the arena has no room left, gets its own region, which is
/// wiped on release and kept for the next such block or unmapped. There is no fallback: memory that cannot be locked
/// is never handed out.
public enum LockedPages {
    /// Blocks up to this size come from the arena.
    package static let largestSmallBlockByteCount = 16 * 1024
    /// The arena grows by regions of this size.
    package static let regionByteCount = 64 * 1024
    /// The arena's regions together; below the 8 MiB that `RLIMIT_MEMLOCK` grants an ordinary user.
    ///
    /// The daemon's 256 connections with a small request each take about half of it: outside the arena each of their
    /// blocks would lock its own page. Regions are locked as they are needed.
    package static let arenaByteCount = 3 * 1024 * 1024

    /// The total size of the spare regions that are kept; a page of a long result uses one of 64 KiB.
    package static let spareByteCount = 320 * 1024

    private static let arena = Guarded(Arena())

    /// The bytes of the arena's regions that are locked now.
    package static var arenaLockedByteCount: Int { arena.withLock { $0.regions.count } * regionByteCount }

    /// Locks the first region, so that a daemon refuses to start where memory cannot be locked.
    ///
    /// - Throws: ``SecretMemoryError`` with the kernel's reason.
    public static func prepare() throws(SecretMemoryError) {
        try arena.withLock { arena throws(SecretMemoryError) in try arena.prepare() }
    }

    /// A block of at least `count` bytes, all zero; `count` is above 0.
    static func allocate(_ count: Int) throws(SecretMemoryError) -> UnsafeMutableRawBufferPointer {
        if let sizeClass = SizeClass(holding: count) {
            let address = try arena.withLock { arena throws(SecretMemoryError) in try arena.take(sizeClass) }
            if let address {
                let start = unsafe UnsafeMutableRawPointer(bitPattern: address)
                return unsafe UnsafeMutableRawBufferPointer(start: start, count: sizeClass.byteCount)
            }
        }
        let wanted = wholePages(count)
        if let spare = arena.withLock({ $0.takeSpare(wanted) }) {
            let start = unsafe UnsafeMutableRawPointer(bitPattern: spare.address)
            return unsafe UnsafeMutableRawBufferPointer(start: start, count: spare.byteCount)
        }
        do throws(SecretMemoryError) {
            return unsafe UnsafeMutableRawBufferPointer(start: try map(wanted), count: wanted)
        } catch {
            // The spare regions may be too small for this block but count against the limit.
            guard unmapSpares() else { throw error }
            return unsafe UnsafeMutableRawBufferPointer(start: try map(wanted), count: wanted)
        }
    }

    /// - Returns: whether there were any spare regions.
    private static func unmapSpares() -> Bool {
        let spares = arena.withLock { $0.takeSpares() }
        for spare in spares {
            guard let start = unsafe UnsafeMutableRawPointer(bitPattern: spare.address) else { continue }
            unsafe unmap(UnsafeMutableRawBufferPointer(start: start, count: spare.byteCount))
        }
        return !spares.isEmpty
    }

    /// ``allocate(_:)`` for callers that cannot continue without it: traps if memory cannot be locked.
    static func allocateOrTrap(_ count: Int) -> UnsafeMutableRawBufferPointer {
        do {
            return try unsafe allocate(count)
        } catch {
            fatalError("touchstone: \(error)")
        }
    }

    /// Wipes a block and takes it back.
    static func release(_ block: UnsafeMutableRawBufferPointer) {
        guard let start = block.baseAddress else { return }
        // Wiped outside the lock: the block still belongs to its owner.
        unsafe clinux_wipe(start, block.count)
        let (address, byteCount) = (UInt(bitPattern: start), block.count)
        let isTaken = arena.withLock { arena in
            if let sizeClass = SizeClass(holding: byteCount), arena.takeBack(address, sizeClass) {
                return true
            }
            return arena.keep(Arena.Spare(address: address, byteCount: byteCount))
        }
        if !isTaken { unsafe unmap(block) }
    }

    private static func unmap(_ block: UnsafeMutableRawBufferPointer) {
        guard let start = block.baseAddress else { return }
        // This wipes, too. The kernel may refuse to split a mapping it had merged (munmap(2), ENOMEM); the pages are
        // then kept for the next block.
        if unsafe clinux_pages_unmap(start, block.count) != 0 {
            let spare = Arena.Spare(address: UInt(bitPattern: start), byteCount: block.count)
            arena.withLock { $0.keepAnyway(spare) }
        }
    }

    /// The bytes at `address`, whether in use or free: for the tests that prove a wipe.
    ///
    /// Nil unless the whole range lies in the arena, whose pages are never unmapped.
    package static func inspect(address: UInt, count: Int) -> [UInt8]? {
        arena.withLock { arena in
            guard arena.holds(address, count: count) else { return nil }
            let start = unsafe UnsafeRawPointer(bitPattern: address)
            return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
        }
    }

    fileprivate static func map(_ byteCount: Int) throws(SecretMemoryError) -> UnsafeMutableRawPointer {
        guard let region = unsafe clinux_pages_map(byteCount) else {
            throw SecretMemoryError(.pagesRefused, errno: errno)
        }
        return unsafe region
    }

    private static func wholePages(_ count: Int) -> Int {
        let page = clinux_page_size()
        return (count + page - 1) / page * page
    }
}

/// The powers of two from 32 bytes to a whole region.
private struct SizeClass {
    static let smallestByteCount = 32
    /// The class of a region.
    static let greatest = 11
    static var count: Int { greatest + 1 }

    let index: Int

    var byteCount: Int { Self.smallestByteCount << index }

    /// The smallest class with room for `count` bytes; nil when they are too many for the arena.
    init?(holding count: Int) {
        guard count <= LockedPages.largestSmallBlockByteCount else { return nil }
        let units = max(1, (count + Self.smallestByteCount - 1) / Self.smallestByteCount)
        index = Int.bitWidth - (units - 1).leadingZeroBitCount
    }
}

/// Regions and their free blocks: a buddy allocator that merges halves only when it must.
///
/// Addresses of free blocks are kept outside the pages, never in them: a free block contains only zeros.
private struct Arena {
    private(set) var regions: [UInt] = []
    /// The wiped region of a large block, kept for the next one.
    struct Spare {
        let address: UInt
        let byteCount: Int
    }
    private var spares: [Spare] = []
    private var spareByteCount = 0

    /// Free blocks by the index of their size class.
    private var free = [[UInt]](repeating: [], count: SizeClass.count)

    mutating func prepare() throws(SecretMemoryError) {
        if regions.isEmpty { try grow() }
    }

    /// The address of a block, or nil when the arena is full.
    mutating func take(_ sizeClass: SizeClass) throws(SecretMemoryError) -> UInt? {
        if let address = takeFree(sizeClass) { return address }
        if regions.count * LockedPages.regionByteCount < LockedPages.arenaByteCount {
            try grow()
        } else {
            joinHalves()
        }
        return takeFree(sizeClass)
    }

    /// False if the block is not part of the arena.
    mutating func takeBack(_ address: UInt, _ sizeClass: SizeClass) -> Bool {
        guard holds(address, count: sizeClass.byteCount) else { return false }
        free[sizeClass.index].append(address)
        return true
    }

    /// The smallest spare region that a large block fits into without wasting most of it.
    mutating func takeSpare(_ byteCount: Int) -> Spare? {
        let fitting = spares.indices.filter {
            byteCount <= spares[$0].byteCount && spares[$0].byteCount <= 2 * byteCount
        }
        guard let best = fitting.min(by: { spares[$0].byteCount < spares[$1].byteCount }) else { return nil }
        spareByteCount -= spares[best].byteCount
        return spares.remove(at: best)
    }

    /// False when enough regions are kept, and for the small blocks of a full arena.
    mutating func keep(_ spare: Spare) -> Bool {
        guard spare.byteCount > LockedPages.largestSmallBlockByteCount,
            spareByteCount + spare.byteCount <= LockedPages.spareByteCount
        else { return false }
        spareByteCount += spare.byteCount
        spares.append(spare)
        return true
    }

    /// Keeps a region that could not be unmapped, however many are kept.
    mutating func keepAnyway(_ spare: Spare) {
        spareByteCount += spare.byteCount
        spares.append(spare)
    }

    mutating func takeSpares() -> [Spare] {
        defer { (spares, spareByteCount) = ([], 0) }
        return spares
    }

    func holds(_ address: UInt, count: Int) -> Bool {
        guard let offset = offset(of: address) else { return false }
        return offset + count <= LockedPages.regionByteCount
    }

    /// The offset of the address in its region.
    private func offset(of address: UInt) -> Int? {
        for start in regions where address >= start && address - start < UInt(LockedPages.regionByteCount) {
            return Int(address - start)
        }
        return nil
    }

    private mutating func grow() throws(SecretMemoryError) {
        let start = try unsafe UInt(bitPattern: LockedPages.map(LockedPages.regionByteCount))
        regions.append(start)
        free[SizeClass.greatest].append(start)
    }

    /// A block of this class, split from the smallest larger one if none is free.
    private mutating func takeFree(_ sizeClass: SizeClass) -> UInt? {
        let source = (sizeClass.index..<SizeClass.count).first { !free[$0].isEmpty }
        guard let source, let address = free[source].popLast() else { return nil }
        for index in (sizeClass.index..<source).reversed() {
            free[index].append(address + UInt(SizeClass.smallestByteCount << index))
        }
        return address
    }

    /// Merges free buddies again, in every class.
    private mutating func joinHalves() {
        for index in 0..<SizeClass.greatest {
            let size = SizeClass.smallestByteCount << index
            let candidates = free[index].sorted()
            free[index].removeAll(keepingCapacity: true)
            var next = candidates.startIndex
            while next < candidates.endIndex {
                let address = candidates[next]
                let isLowerHalf = offset(of: address)?.isMultiple(of: 2 * size) ?? false
                let follower = next + 1 < candidates.endIndex ? candidates[next + 1] : 0
                let isWhole = isLowerHalf && follower == address + UInt(size)
                free[isWhole ? index + 1 : index].append(address)
                next += isWhole ? 2 : 1
            }
        }
    }
}
