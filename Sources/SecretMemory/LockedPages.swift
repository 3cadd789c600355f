import CLinux
import Glibc
import Synchronization

/// The pages that hold secrets: locked, left out of core dumps, zero in a forked child.
///
/// Small blocks come from regions of 64 KiB that stay mapped for the life of the process, at most 1 MiB of them.
/// Each block is wiped before it is free again, so that a test can look at a page after its owner let go and find
/// zeros. A block larger than 16 KiB, or one for which the arena has no room left, has a region of its own that is
/// wiped and unmapped. There is no third way: memory that cannot be locked is not handed out.
public enum LockedPages {
    /// Blocks up to this size come from the arena.
    package static let largestSmallBlockByteCount = 16 * 1024
    /// The arena grows by regions of this size.
    package static let regionByteCount = 64 * 1024
    /// The arena's regions together; below the 8 MiB that `RLIMIT_MEMLOCK` grants an ordinary user.
    package static let arenaByteCount = 1024 * 1024

    private static let arena = Mutex(Arena())

    /// Locks the first region, so that a daemon refuses to start where memory cannot be locked.
    ///
    /// - Throws: ``SecretMemoryError`` with the kernel's reason.
    public static func prepare() throws(SecretMemoryError) {
        try arena.withLock { arena throws(SecretMemoryError) in try arena.prepare() }
    }

    /// A block of at least `count` octets, all zero; `count` is above 0.
    static func allocate(_ count: Int) throws(SecretMemoryError) -> UnsafeMutableRawBufferPointer {
        if let sizeClass = SizeClass(holding: count) {
            let address = try arena.withLock { arena throws(SecretMemoryError) in try arena.take(sizeClass) }
            if let address {
                let start = unsafe UnsafeMutableRawPointer(bitPattern: address)
                return unsafe UnsafeMutableRawBufferPointer(start: start, count: sizeClass.byteCount)
            }
        }
        let byteCount = wholePages(count)
        return unsafe UnsafeMutableRawBufferPointer(start: try map(byteCount), count: byteCount)
    }

    /// ``allocate(_:)`` for those who cannot go on without: traps where memory cannot be locked.
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
        // Outside the lock: the block is still its owner's.
        unsafe clinux_wipe(start, block.count)
        if let sizeClass = SizeClass(holding: block.count) {
            let address = UInt(bitPattern: start)
            let isTaken = arena.withLock { $0.takeBack(address, sizeClass) }
            if isTaken { return }
        }
        guard unsafe clinux_pages_unmap(start, block.count) == 0 else {
            fatalError("touchstone: munmap failed on a page of ours (errno \(errno))")
        }
    }

    /// What now stands at `address`, whoever owns it: for the tests that prove a wipe.
    ///
    /// Nil unless all of it lies in the arena, whose pages are never unmapped.
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

/// The powers of two from 32 to 16 384 octets.
private struct SizeClass {
    static let smallestByteCount = 32
    static let count = 10

    let index: Int

    var byteCount: Int { Self.smallestByteCount << index }

    /// The smallest class with room for `count` octets; nil when there is none.
    init?(holding count: Int) {
        guard count <= LockedPages.largestSmallBlockByteCount else { return nil }
        let units = max(1, (count + Self.smallestByteCount - 1) / Self.smallestByteCount)
        index = Int.bitWidth - (units - 1).leadingZeroBitCount
    }
}

/// Regions, the blocks that are free in them, and the room not yet handed out.
///
/// Kept as addresses beside the pages, never in them: a free block holds nothing but zeros.
private struct Arena {
    private var regions: [UInt] = []
    private var free = [[UInt]](repeating: [], count: SizeClass.count)
    /// The part of the newest region that was never handed out.
    private var fresh: Range<UInt> = 0..<0

    mutating func prepare() throws(SecretMemoryError) {
        if regions.isEmpty { try grow() }
    }

    /// The address of a block, or nil when the arena is full.
    mutating func take(_ sizeClass: SizeClass) throws(SecretMemoryError) -> UInt? {
        if let address = free[sizeClass.index].popLast() { return address }
        // Whatever is left of a region ends up as blocks, so nothing of it is lost.
        while fresh.count < sizeClass.byteCount {
            guard regions.count * LockedPages.regionByteCount < LockedPages.arenaByteCount else {
                return nil
            }
            keepRest()
            try grow()
        }
        let address = fresh.lowerBound
        fresh = (address + UInt(sizeClass.byteCount))..<fresh.upperBound
        return address
    }

    /// False when the block was not the arena's.
    mutating func takeBack(_ address: UInt, _ sizeClass: SizeClass) -> Bool {
        guard holds(address, count: sizeClass.byteCount) else { return false }
        free[sizeClass.index].append(address)
        return true
    }

    func holds(_ address: UInt, count: Int) -> Bool {
        let size = UInt(LockedPages.regionByteCount)
        return regions.contains { address >= $0 && address - $0 + UInt(count) <= size }
    }

    private mutating func grow() throws(SecretMemoryError) {
        let start = try unsafe UInt(bitPattern: LockedPages.map(LockedPages.regionByteCount))
        regions.append(start)
        fresh = start..<(start + UInt(LockedPages.regionByteCount))
    }

    /// Turns the rest of the newest region into free blocks, largest first.
    private mutating func keepRest() {
        for index in (0..<SizeClass.count).reversed() {
            let size = UInt(SizeClass.smallestByteCount << index)
            while UInt(fresh.count) >= size {
                free[index].append(fresh.lowerBound)
                fresh = (fresh.lowerBound + size)..<fresh.upperBound
            }
        }
    }
}
