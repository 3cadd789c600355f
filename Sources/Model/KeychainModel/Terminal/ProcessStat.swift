import Glibc

/// The content of `/proc/PID/stat` about a process and its terminal (proc(5)).
package struct ProcessStat: Equatable {
    /// Field 4.
    package let parent: Int32
    /// Field 5.
    package let processGroup: Int32
    /// Field 6: the pid of the session's leader.
    package let session: Int32
    /// Field 7: the controlling terminal's device number; 0 without one.
    package let terminal: UInt64
    /// Field 8: the foreground process group of that terminal; -1 without one.
    package let foregroundGroup: Int32
    /// Field 22: clock ticks since boot.
    package let start: UInt64
    /// Whether it is stopped, by a signal or a tracer (field 3).
    package let isStopped: Bool
    /// Whether it ignores the signals that stop a job (field 33), as shells with job control do.
    package let ignoresJobControl: Bool

    /// Reads it for a pid; nil if the process has ended or is not visible.
    package init?(of process: Int32) {
        guard process > 0 else { return nil }
        self.init(unsafe open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC))
    }

    /// Reads an open file and closes it; nil for a negative `descriptor`.
    private init?(_ descriptor: CInt) {
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // Parsed in place: checking a terminal that controls no process reads one of these for each session.
        let found = unsafe withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { octets in
            let count = unsafe read(descriptor, octets.baseAddress, octets.count)
            return count > 0 ? unsafe Self(UnsafeRawBufferPointer(rebasing: octets[..<count])) : nil
        }
        guard let found else { return nil }
        self = found
    }

    /// Parses the file's content.
    package init?(_ octets: [UInt8]) {
        guard let found = unsafe octets.withUnsafeBytes({ unsafe Self($0) }) else { return nil }
        self = found
    }

    /// Parses the file's only line.
    package init?(_ line: String) {
        guard let found = unsafe Array(line.utf8).withUnsafeBytes({ unsafe Self($0) }) else { return nil }
        self = found
    }

    /// The name in field 2 may contain any character, so fields are counted from its end.
    private init?(_ octets: UnsafeRawBufferPointer) {
        guard let nameEnd = unsafe octets.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = unsafe octets[(nameEnd + 1)...].split(separator: UInt8(ascii: " "), maxSplits: 31)
        guard unsafe fields.count > 19, let parent = unsafe Self.number(fields[1]),
            let processGroup = unsafe Self.number(fields[2]), let session = unsafe Self.number(fields[3]),
            let terminal = unsafe Self.number(fields[4]),
            let foregroundGroup = unsafe Self.number(fields[5]),
            let start = unsafe Self.digits(fields[19])
        else { return nil }
        self.parent = parent
        self.processGroup = processGroup
        self.session = session
        // The kernel encodes the device like `st_rdev` for all terminals (12 bits of major number).
        self.terminal = UInt64(UInt32(bitPattern: terminal))
        self.foregroundGroup = foregroundGroup
        self.start = start
        isStopped = unsafe fields[0].first == UInt8(ascii: "T") || fields[0].first == UInt8(ascii: "t")
        let ignored = unsafe fields.count > 30 ? Self.digits(fields[30]) ?? 0 : 0
        ignoresJobControl = [SIGTSTP, SIGTTIN, SIGTTOU].allSatisfy { ignored & (1 << UInt64($0 - 1)) != 0 }
    }

    private static func number(_ field: Slice<UnsafeRawBufferPointer>) -> Int32? {
        guard unsafe field.first == UInt8(ascii: "-") else {
            return unsafe digits(field).flatMap { Int32(exactly: $0) }
        }
        return unsafe digits(field.dropFirst()).flatMap { Int32(exactly: -Int64(clamping: $0)) }
    }

    private static func digits(_ field: Slice<UnsafeRawBufferPointer>) -> UInt64? {
        guard unsafe !field.isEmpty else { return nil }
        var number: UInt64 = 0
        for index in unsafe field.indices {
            let octet = unsafe field[index]
            guard octet >= UInt8(ascii: "0"), octet <= UInt8(ascii: "9") else { return nil }
            let (product, isLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = product.addingReportingOverflow(UInt64(octet - UInt8(ascii: "0")))
            guard !isLarge, !isLarger else { return nil }
            number = sum
        }
        return number
    }
}
