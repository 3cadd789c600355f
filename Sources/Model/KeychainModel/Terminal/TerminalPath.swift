import Glibc

/// The paths at which a prompt may be drawn: `/dev/pts/N`, `/dev/ttyN` and serial lines such as `/dev/ttyS0`.
///
/// Every user may create links and directories elsewhere below `/dev`, such as in `/dev/shm`, and mount another devpts
/// instance, whose terminals have the device numbers of the first one's.
package enum TerminalPath {
    private static let pseudoTerminals = "/dev/pts/"
    private static let consoles = "/dev/tty"

    /// Whether a path is one of these; nothing is said about what is there.
    package static func isUsable(_ path: String) -> Bool {
        if path.hasPrefix(pseudoTerminals) { return isNumber(path.dropFirst(pseudoTerminals.count)) }
        guard path.hasPrefix(consoles) else { return false }
        let name = path.dropFirst(consoles.count)
        // No letters for a console, `S`, `AMA`, `USB` and the like for serial lines.
        let line = name.prefix { $0.isASCII && $0.isUppercase }
        return line.count <= 8 && isNumber(name.dropFirst(line.count))
    }

    /// Whether an open terminal is in the file system that this process sees at its path's directory.
    ///
    /// - Parameters:
    ///   - device: `st_dev` of the open terminal.
    ///   - path: the path at which it was opened, a usable one.
    /// - Returns: whether both are in the same file system.
    package static func isHere(device: UInt64, at path: String) -> Bool {
        var directory = stat()
        let place = path.hasPrefix(pseudoTerminals) ? "/dev/pts" : "/dev"
        return unsafe lstat(place, &directory) == 0 && directory.st_mode & S_IFMT == S_IFDIR
            && UInt64(directory.st_dev) == device
    }

    /// The path of a terminal, by the device number that the kernel reports (``ProcessStat/terminal``); nil for none.
    package static func path(ofDevice number: UInt64) -> String? {
        let device = UInt32(truncatingIfNeeded: number)
        let major = (device >> 8) & 0xFFF
        let minor = (device & 0xFF) | ((device >> 12) & 0xFFF00)
        // Linux's admin-guide/devices.txt: 136 to 143 are Unix98 terminals, 4 the consoles and the serial lines.
        let path: String
        switch major {
        case 136...143: path = "/dev/pts/\((major - 136) * 256 + minor)"
        case 4 where minor < 64: path = "/dev/tty\(minor)"
        case 4: path = "/dev/ttyS\(minor - 64)"
        default: return nil
        }
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFCHR else { return nil }
        return path
    }

    private static func isNumber(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.count <= 7 && text.allSatisfy { $0.isASCII && $0.isNumber }
    }
}
