internal import Foundation

/// The processors that this process may run on, which are fewer than the machine's under taskset(1) or a CPUAffinity of systemd.
public enum Processors {
    /// How many; at least 1.
    public static var count: Int {
        let all = ProcessInfo.processInfo.activeProcessorCount
        // Glibc's module does not have sched_getaffinity(2); the kernel says the same here.
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Cpus_allowed:") })
        else { return all }
        let count = line.dropFirst("Cpus_allowed:".count).compactMap(\.hexDigitValue)
            .reduce(0) { $0 + $1.nonzeroBitCount }
        return count > 0 ? min(count, all) : all
    }
}
