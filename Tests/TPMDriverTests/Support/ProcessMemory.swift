import Glibc

/// Searches the memory of this process.
enum ProcessMemory {
    /// The number of copies in writable memory, besides the one that this function holds.
    static func count(ofInverted inverted: [UInt8]) -> Int {
        let byteCount = 1 << 20
        // Excluded from the search: the pattern itself, and the buffer that memory is read into.
        guard
            let place = mmap(
                nil,
                byteCount + 4096,
                PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS,
                -1,
                0
            ), place != MAP_FAILED
        else { return -1 }
        defer { munmap(place, byteCount + 4096) }
        let needle = place + byteCount
        for (offset, octet) in inverted.enumerated() {
            needle.storeBytes(of: ~octet, toByteOffset: offset, as: UInt8.self)
        }
        let own = UInt(bitPattern: place)..<UInt(bitPattern: place + byteCount + 4096)
        let memory = open("/proc/self/mem", O_RDONLY)
        defer { close(memory) }
        var found = 0
        for (start, end) in writableRanges() {
            var position = start
            while position < end {
                let wanted = min(byteCount, Int(end - position))
                let overlaps = own.overlaps(position..<(position + UInt(wanted)))
                let next = position + UInt(wanted)
                let count = overlaps ? 0 : pread(memory, place, wanted, Int(bitPattern: position))
                if overlaps {
                    // Page by page around the excluded ones.
                    for page in stride(from: position, to: next, by: 4096) where !own.contains(page) {
                        let count = pread(memory, place, 4096, Int(bitPattern: page))
                        found += matches(place, count, needle, inverted.count)
                    }
                }
                found += matches(place, count, needle, inverted.count)
                position = next
            }
        }
        return found
    }

    private static func matches(
        _ place: UnsafeMutableRawPointer,
        _ count: Int,
        _ needle: UnsafeMutableRawPointer,
        _ needleCount: Int
    ) -> Int {
        var found = 0
        var offset = 0
        let first = CInt(needle.load(as: UInt8.self))
        while count - offset >= needleCount, let match = memchr(place + offset, first, count - offset) {
            offset = UnsafeRawPointer(match) - UnsafeRawPointer(place)
            if count - offset >= needleCount, memcmp(match, needle, needleCount) == 0 { found += 1 }
            offset += 1
        }
        return found
    }

    private static func writableRanges() -> [(UInt, UInt)] {
        guard let file = fopen("/proc/self/maps", "r") else { return [] }
        defer { fclose(file) }
        var ranges: [(UInt, UInt)] = []
        var line = [CChar](repeating: 0, count: 4096)
        while fgets(&line, CInt(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            let fields = text.split(separator: " ")
            guard fields.count > 1, fields[1].hasPrefix("rw") else { continue }
            let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            if ends.count == 2 { ranges.append((ends[0], ends[1])) }
        }
        return ranges
    }
}
