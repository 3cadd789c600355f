import Glibc
package import KeychainModel

/// What the kernel tells of a client that says nothing of itself: where a box can be shown, and its arguments.
///
/// All of it is under the control of the program, as what other clients say of themselves: the prompts check the place.
package struct ClientPlace {
    private static let longestEnvironment = 1 << 18
    private static let longestArguments = 1 << 16

    /// Its terminal, if the program is in the foreground there, and its display.
    package let origin: PromptOrigin
    /// The words of its command line.
    package let arguments: [String]

    /// Reads what there is in `/proc` about a process; its environment only a daemon of the same user may read.
    ///
    /// `told` is the device number of its terminal, for a daemon that cannot see the process.
    package init(of pid: Int32, terminal told: UInt64?) {
        let stat = ProcessStat(of: pid)
        let variables = Self.words("/proc/\(pid)/environ", atMost: Self.longestEnvironment)
        func variable(_ name: String) -> String? {
            let start = name + "="
            let found = variables.first { $0.hasPrefix(start) && $0.count > start.count }
            return found.map { String($0.dropFirst(start.count)) }
        }
        let isInForeground = stat.map { $0.foregroundGroup == $0.processGroup } ?? true
        let device = stat?.terminal ?? told
        let terminal = isInForeground ? device.flatMap { TerminalPath.path(ofDevice: $0) } : nil
        origin = PromptOrigin(terminal: terminal, variable: variable)
        arguments = Self.words("/proc/\(pid)/cmdline", atMost: Self.longestArguments)
    }

    /// The words of a file in which each ends with a zero byte; none of one that cannot be read.
    private static func words(_ path: String, atMost limit: Int) -> [String] {
        let bytes = (try? SmallFile.bytes(path, atMost: limit)) ?? []
        return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }
}
