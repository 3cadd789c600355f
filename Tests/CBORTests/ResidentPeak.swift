import Foundation

/// This process's peak resident memory in bytes (`VmHWM` in `/proc/self/status`).
func residentPeak() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    let kibibytes = line?.split(separator: " ").compactMap { Int($0) }.first ?? 0
    return kibibytes << 10
}
