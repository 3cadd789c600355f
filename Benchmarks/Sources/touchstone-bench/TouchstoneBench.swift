import Glibc
import TPMDriver

/// Measures the daemon, the client and the command beside the limit and beside peers, in one run.
///
/// Started by `Scripts/benchmark`; the table goes to standard output.
@main
enum TouchstoneBench {
    /// 0 when every row could be measured and, unless it is a smoke run, every promise is kept.
    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        for (name, value) in TPM.libraryEnvironment { unsafe setenv(name, value, 1) }
        let programs: Programs
        do {
            programs = try Programs(Array(CommandLine.arguments.dropFirst()))
        } catch {
            Table.note("error: \(error)")
            exit(64)
        }
        let begin = Stopwatch.now()
        let table = await measure(programs, programs.isSmoke ? .smoke : .full)
        print(table.text)
        print("\nmeasured in \(Figure(Stopwatch.now() - begin).text)")
        if table.hasFailures { exit(1) }
        exit(programs.isSmoke || table.isWithinBounds ? 0 : 2)
    }

    private static func measure(_ programs: Programs, _ scale: Scale) async -> Table {
        var table = Table()
        if let only = programs.only {
            await table.run(only) {
                let count = Int(only.split(separator: "-").last ?? "") ?? scale.middle
                var stage = try await Stage.start(programs, count: count, clients: scale.clients)
                for _ in 0..<(Int(String(cString: getenv("ROUNDS") ?? strdup("1"))) ?? 1) {
                if only.hasPrefix("changes") { try ChangeRows.measure(&stage, scale, into: &$0) }
                if only.hasPrefix("octets") { try WriteRows.measureOctets(&stage, scale, into: &$0) }
                }
                if only.hasPrefix("flushes") { try await WriteRows.measureFlushes(programs, scale, into: &$0) }
                try await stage.stop()
            }
            return table
        }
        var lookup: Nanoseconds?
        var process: Nanoseconds?
        var bulk: FrontRows.Bulk?
        do {
            var stages: [Stage] = []
            for count in [scale.small, scale.middle, scale.large] {
                stages.append(try await Stage.start(programs, count: count, clients: scale.clients))
            }
            table.run("look-up") { lookup = try LookupRows.measure(stages, scale, into: &$0) }
            table.run("all items") { try ListRows.measure(stages[1], scale, into: &$0) }
            table.run("Apple's functions") { bulk = try FrontRows.measure(stages[1], scale, into: &$0) }
            table.run("resident memory") { try DaemonRows.measureMemory(stages[1], into: &$0) }
            table.run("whole process") {
                process = try ProcessRows.measure(programs, stages[1], scale, into: &$0)
            }
            await table.run("start and unlock") {
                try await DaemonRows.measureStart(stages[1], scale, into: &$0)
            }
            table.run("changes") { try ChangeRows.measure(&stages[1], scale, into: &$0) }
            for index in stages.indices {
                table.run("octets written") { try WriteRows.measureOctets(&stages[index], scale, into: &$0) }
            }
            table.run("adds through Apple's functions") { _ in
                bulk?.add = try FrontRows.measureAdds(&stages[1], scale)
            }
            for stage in stages { try await stage.stop() }
        } catch {
            table.add("three filled stores", failed: error)
        }
        await table.run("flushes") { try await WriteRows.measureFlushes(programs, scale, into: &$0) }
        await table.run("TPM") { try await TPMRows.measure(scale, into: &$0) }
        await table.run("TPM and look-ups") {
            try await TPMRows.measureLookups(programs, scale, into: &$0)
        }
        await table.run("finger") { try await FingerRows.measure(programs, scale, into: &$0) }
        guard !programs.isSmoke, let lookup, let process, let bulk else { return table }
        table.run("systemd-creds") { try ProcessRows.measureCredentials(process, scale, into: &$0) }
        await table.run("gnome-keyring") {
            try await KeyringRows.measure(programs, lookup: lookup, process: process, bulk, scale, into: &$0)
        }
        return table
    }
}

extension Table {
    /// Measures some rows; an error becomes a row that says so, and the rest goes on.
    fileprivate mutating func run(_ name: String, _ body: (inout Table) throws -> Void) {
        do {
            try body(&self)
        } catch {
            add(name, failed: error)
        }
    }

    /// Measures some rows that wait for something.
    fileprivate mutating func run(_ name: String, _ body: (inout Table) async throws -> Void) async {
        do {
            try await body(&self)
        } catch {
            add(name, failed: error)
        }
    }
}
