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
        guard process > 0, let text = Self.contents(of: "/proc/\(process)/stat") else { return nil }
        self.init(text)
    }

    /// Parses the file's only line; the name in field 2 may hold anything, so fields count from its end.
    package init?(_ line: String) {
        guard let nameEnd = line.utf8.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = line[line.utf8.index(after: nameEnd)...].split(separator: " ")
        guard fields.count > 19, let parent = Int32(fields[1]), let processGroup = Int32(fields[2]),
            let session = Int32(fields[3]), let terminal = Int32(fields[4]),
            let foregroundGroup = Int32(fields[5]), let start = UInt64(fields[19])
        else { return nil }
        self.parent = parent
        self.processGroup = processGroup
        self.session = session
        // The kernel's encoding of a device is that of `st_rdev` for all terminals (12 bits of major number).
        self.terminal = UInt64(UInt32(bitPattern: terminal))
        self.foregroundGroup = foregroundGroup
        self.start = start
    }

    /// Whether it may read from its terminal.
    package var isInForeground: Bool { processGroup == foregroundGroup }

    private static func contents(of path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var octets = [UInt8](repeating: 0, count: 1024)
        let count = unsafe read(descriptor, &octets, octets.count)
        return count > 0 ? String(decoding: octets[..<count], as: UTF8.self) : nil
    }
}
