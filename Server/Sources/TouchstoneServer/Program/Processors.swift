internal import Foundation

/// The processors that this process may use, which are fewer than the machine's under taskset(1) or systemd's
/// CPUAffinity.
public enum Processors {
    /// The number of processors; at least 1.
    public static var count: Int {
        let all = ProcessInfo.processInfo.activeProcessorCount
        // The Glibc module lacks sched_getaffinity(2); this file has the same information.
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Cpus_allowed:") })
        else { return all }
        let count = line.dropFirst("Cpus_allowed:".count).compactMap(\.hexDigitValue)
            .reduce(0) { $0 + $1.nonzeroBitCount }
        return count > 0 ? min(count, all) : all
    }
}
