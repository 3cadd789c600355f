import Glibc
import KeychainClient
import TouchstoneTesting

/// The disk cost of an add: bytes written, and flushes.
enum WriteRows {
    /// Bytes per add, as counted in `/proc/PID/io` (proc(5)): those that dirtied pages to be written to the disk, and
    /// those passed to write(2).
    static func measureOctets(_ stage: inout Stage, _ scale: Scale, into table: inout Table) throws {
        let name = "bytes written per add, \(stage.count) items"
        let daemon = try stage.keychain.daemonProcess()
        guard let before = counters(of: daemon) else {
            return table.add(Row(name, notMeasured: "/proc/\(daemon)/io is for root only"))
        }
        let keychain = stage.keychain.connect()
        // Enough for checkpoints of the write-ahead log in between, as in the long run.
        let count = scale.changes * 5
        for number in stage.fresh(count) {
            _ = try keychain.add(BenchItem.add(number, prompt: stage.keychain.prompt))
        }
        guard let after = counters(of: daemon) else { throw BenchError("the daemon is gone") }
        func perAdd(_ counter: String) -> Figure {
            Figure(Double((after[counter] ?? 0) - (before[counter] ?? 0)) / Double(count), .size)
        }
        table.add(Row(name, ours: perAdd("write_bytes"), atMost: .kilobytes(24)))
        table.add(Row("of that, handed to write(2), \(stage.count) items", ours: perAdd("wchar")))
    }

    private static func counters(of process: Int32) -> [String: Int]? {
        guard let text = try? TextFile.read("/proc/\(process)/io") else { return nil }
        let lines = text.split(separator: "\n").map { $0.split(separator: ":") }
        return Dictionary(
            lines.compactMap { $0.count == 2 ? (String($0[0]), Int($0[1].dropFirst()) ?? 0) : nil },
            uniquingKeysWith: { $1 }
        )
    }

    /// Flushes and file status calls per add of one client, counted by strace on a separate daemon.
    static func measureFlushes(_ programs: Programs, _ scale: Scale, into table: inout Table) async throws {
        let name = "flushes per add, one client"
        let strace = "/usr/bin/strace"
        guard unsafe access(strace, X_OK) == 0 else {
            return table.add(Row(name, notMeasured: "strace is missing"))
        }
        let keychain = try BenchKeychain(programs)
        let trace = keychain.appending("trace")
        try await keychain.start(
            under: strace,
            // With the paths of descriptors (-y).
            [
                "-f", "-y", "-qq", "-o", trace, "-e",
                "trace=fsync,fdatasync,sync_file_range,sync,syncfs,%%stat",
            ]
        )
        let client = keychain.connect()
        try client.setUp(keychain.prompt)
        // The first add creates the write-ahead log.
        _ = try client.add(BenchItem.add(0, prompt: keychain.prompt))
        let before = try calls(in: trace)
        let count = scale.changes / 2
        for number in 1...count { _ = try client.add(BenchItem.add(number, prompt: keychain.prompt)) }
        let after = try calls(in: trace)
        try await keychain.stop()
        func perAdd(_ number: Int) -> Figure { Figure(Double(number) / Double(count), .count) }
        table.add(Row(name, ours: perAdd(after.flushes - before.flushes), atMost: Figure(1, .count)))
        // The names of three files before and after each commit, as nothing is acknowledged into a replaced file; and the log
        // is extended now and then.
        let looks = perAdd(after.looks - before.looks)
        table.add(Row("looks at a file's state per add", ours: looks, atMost: Figure(6.25, .count)))
        let callerLooks = perAdd(after.callerLooks - before.callerLooks)
        table.add(
            Row("looks at the caller's program per add", ours: callerLooks, atMost: Figure(1, .count))
        )
    }

    private struct Calls {
        var flushes = 0
        /// Calls of stat(2) and its variants.
        var looks = 0
        /// The same calls on the client's `/proc/PID/exe`, which are not counted in ``looks``: the daemon identifies
        /// the caller with each request.
        var callerLooks = 0
    }

    /// Counts flushes, and calls of stat(2) and its variants.
    private static func calls(in trace: String) throws -> Calls {
        var calls = Calls()
        for line in try TextFile.read(trace).split(separator: "\n") where !line.contains("resumed") {
            if line.contains("sync(") {
                calls.flushes += 1
            } else if line.contains("</proc/"), line.contains("\"exe\"") {
                calls.callerLooks += 1
            } else if line.contains("stat") {
                calls.looks += 1
            }
        }
        return calls
    }
}
