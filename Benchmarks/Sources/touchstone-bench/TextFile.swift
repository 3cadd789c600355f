import Foundation

/// Small text files.
enum TextFile {
    /// Reads the whole text.
    static func read(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    /// The resident memory of a process in kilobytes (proc(5), `VmRSS`).
    static func residentKilobytes(of process: Int32) throws -> Double {
        let status = try read("/proc/\(process)/status")
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
            let kilobytes = line.split(whereSeparator: { !("0"..."9").contains($0) }).first.flatMap({
                Double($0)
            })
        else { throw BenchError("no VmRSS") }
        return kilobytes
    }
}
