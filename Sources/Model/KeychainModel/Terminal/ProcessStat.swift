import Glibc

/// What `/proc/PID/stat` says about a process and its terminal (proc(5)).
package struct ProcessStat: Equatable {
    /// Field 4.
    package let parent: Int32
    /// Field 5.
    package let processGroup: Int32
    /// Field 6: the process number of the session's leader.
    package let session: Int32
    /// Field 7: the controlling terminal's device number; 0 without one.
    package let terminal: UInt64
    /// Field 8: the foreground process group of that terminal; -1 without one.
    package let foregroundGroup: Int32
    /// Field 22: clock ticks since boot.
    package let start: UInt64

    /// Reads it; nil for a process that is gone or cannot be seen.
    package init?(of process: Int32) {
        guard process > 0 else { return nil }
        let descriptor = unsafe open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // Read where it lies: a look at a terminal that controls nobody takes one of these for each session.
        let found = unsafe withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { octets in
            let count = unsafe read(descriptor, octets.baseAddress, octets.count)
            return count > 0 ? unsafe Self(UnsafeRawBufferPointer(rebasing: octets[..<count])) : nil
        }
        guard let found else { return nil }
        self = found
    }

    /// Parses the file's only line.
    package init?(_ line: String) {
        guard let found = unsafe Array(line.utf8).withUnsafeBytes({ unsafe Self($0) }) else { return nil }
        self = found
    }

    /// The name in field 2 may hold anything, so fields count from its end.
    private init?(_ octets: UnsafeRawBufferPointer) {
        guard let nameEnd = unsafe octets.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        var place = nameEnd + 1
        var numbers: [Int64] = []
        numbers.reserveCapacity(20)
        // Field 3, a letter, counts as 0.
        while numbers.count < 20 {
            while place < octets.count, unsafe octets[place] == UInt8(ascii: " ") { place += 1 }
            guard place < octets.count else { return nil }
            guard let number = unsafe Self.number(octets, &place, isLetter: numbers.isEmpty) else { return nil }
            numbers.append(number)
        }
        guard let parent = Int32(exactly: numbers[1]), let processGroup = Int32(exactly: numbers[2]),
            let session = Int32(exactly: numbers[3]), let terminal = Int32(exactly: numbers[4]),
            let foregroundGroup = Int32(exactly: numbers[5]), let start = UInt64(exactly: numbers[19])
        else { return nil }
        self.parent = parent
        self.processGroup = processGroup
        self.session = session
        // The kernel's encoding of a device is that of `st_rdev` for all terminals (12 bits of major number).
        self.terminal = UInt64(UInt32(bitPattern: terminal))
        self.foregroundGroup = foregroundGroup
        self.start = start
    }

    private static func number(
        _ octets: UnsafeRawBufferPointer,
        _ place: inout Int,
        isLetter: Bool
    ) -> Int64? {
        let isNegative = unsafe octets[place] == UInt8(ascii: "-")
        if isNegative || isLetter { place += 1 }
        let start = place
        var number: UInt64 = 0
        while place < octets.count, case let octet = unsafe octets[place], octet > UInt8(ascii: " ") {
            guard octet >= UInt8(ascii: "0"), octet <= UInt8(ascii: "9") else { return nil }
            let (product, isLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = product.addingReportingOverflow(UInt64(octet - UInt8(ascii: "0")))
            guard !isLarge, !isLarger else { return nil }
            number = sum
            place += 1
        }
        guard place > start || isLetter else { return nil }
        // Fields between those that are wanted may be larger (a size without a limit): their value does not matter.
        let limited = Int64(clamping: number)
        return isNegative ? -limited : limited
    }

    /// Whether it may read from its terminal.
    package var isInForeground: Bool { processGroup == foregroundGroup }
}
