import Glibc
import TPMDriver

/// Measures the daemon, the client and the command, compared to the limit and to peers, in one run.
///
/// Started by `Scripts/benchmark`; the table goes to standard output.
@main
enum TouchstoneBench {
    /// Exits with 0 when every row was measured and, unless it is a smoke run, every bound holds.
    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        if CommandLine.arguments.dropFirst().first == SystemClient.option {
            SystemClient.run(Array(CommandLine.arguments.dropFirst(2)))
        }
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
        let parts = programs.parts
        var table = Table()
        var found = Found()
        do {
            try await measureStores(programs, scale, &found, into: &table)
        } catch {
            table.add("filled stores", failed: error)
        }
        if parts.contains(.flushes) {
            await table.run("flushes") { try await WriteRows.measureFlushes(programs, scale, into: &$0) }
        }
        if parts.contains(.waits) {
            await table.run("waits") { try await WaitRows.measure(programs, scale, into: &$0) }
        }
        if parts.contains(.tpm) {
            await table.run("TPM") { try await TPMRows.measure(scale, into: &$0) }
            await table.run("TPM and look-ups") {
                try await TPMRows.measureLookups(programs, scale, into: &$0)
            }
        }
        if parts.contains(.finger) {
            await table.run("finger") { try await FingerRows.measure(programs, scale, into: &$0) }
        }
        if parts.contains(.system) {
            await table.run("system mode") { try await SystemRows.measure(programs, scale, into: &$0) }
        }
        if parts.contains(.ssh) {
            await table.run("ssh-agent") { try await SSHRows.measure(programs, scale, into: &$0) }
        }
        if parts.contains(.secrets) {
            await table.run("Secret Service") {
                found.door = try await DoorRows.measure(programs, scale, into: &$0)
                if let door = found.door, !parts.contains(.peers) {
                    try await KeyringRows.compare(programs, door, scale, into: &$0)
                }
            }
        }
        guard parts.contains(.peers), !programs.isSmoke else { return table }
        await measurePeers(programs, scale, found, into: &table)
        return table
    }

    /// Our figures for the comparison with peers.
    private struct Found {
        var lookup: Nanoseconds?
        var list: Nanoseconds?
        var process: Nanoseconds?
        var bulk: FrontRows.Bulk?
        var door: DoorRows.Found?
    }

    private static func measureStores(
        _ programs: Programs,
        _ scale: Scale,
        _ found: inout Found,
        into table: inout Table
    ) async throws {
        let parts = programs.parts
        let isOfAllSizes = !parts.isDisjoint(with: Part.ofAllSizes)
        guard isOfAllSizes || !parts.isDisjoint(with: Part.ofMiddleSize) else { return }
        var stages: [Stage] = []
        for count in isOfAllSizes ? [scale.small, scale.middle, scale.large] : [scale.middle] {
            stages.append(try await Stage.start(programs, count: count, clients: scale.clients))
        }
        let middle = stages.count / 2
        if parts.contains(.lookUp) {
            table.run("look-up") { found.lookup = try LookupRows.measure(stages, scale, into: &$0) }
        }
        if parts.contains(.list) {
            table.run("all items") { found.list = try ListRows.measure(stages[middle], scale, into: &$0) }
        }
        if parts.contains(.functions) {
            table.run("Apple's functions") {
                found.bulk = try FrontRows.measure(stages[middle], scale, into: &$0)
            }
            table.run("the async API") { try StoreRows.measure(stages[middle], scale, into: &$0) }
        }
        if parts.contains(.memory) {
            table.run("resident memory") { try DaemonRows.measureMemory(stages[middle], into: &$0) }
        }
        if parts.contains(.process) {
            table.run("whole process") {
                found.process = try ProcessRows.measure(programs, stages[middle], scale, into: &$0)
            }
        }
        if parts.contains(.changes) {
            table.run("changes") { try ChangeRows.measure(&stages[middle], scale, into: &$0) }
        }
        // After the changes: the limit daemon is not restarted, and keeps its caches.
        if parts.contains(.start) {
            await table.run("start and unlock") {
                try await DaemonRows.measureStart(stages[middle], scale, into: &$0)
            }
        }
        if parts.contains(.octets) {
            for index in stages.indices {
                table.run("bytes written") { try WriteRows.measureOctets(&stages[index], scale, into: &$0) }
            }
        }
        if parts.contains(.functions) {
            table.run("adds through Apple's functions") { _ in
                found.bulk?.add = try FrontRows.measureAdds(&stages[middle], scale)
            }
        }
        for stage in stages { try await stage.stop() }
    }

    private static func measurePeers(
        _ programs: Programs,
        _ scale: Scale,
        _ found: Found,
        into table: inout Table
    ) async {
        guard let lookup = found.lookup, let process = found.process, let bulk = found.bulk else { return }
        table.run("systemd-creds") { try ProcessRows.measureCredentials(process, scale, into: &$0) }
        await table.run("gnome-keyring") {
            try await KeyringRows.measure(
                programs,
                lookup: lookup,
                process: process,
                bulk,
                found.door,
                scale,
                into: &$0
            )
        }
        if let list = found.list, let client = programs.kwallet {
            await table.run("KWallet") {
                try await KWalletRows.measure(client, lookup: lookup, list: list, scale, into: &$0)
            }
        }
    }
}

extension Table {
    /// Measures some rows; an error becomes a row that reports it, and the run continues.
    fileprivate mutating func run(_ name: String, _ body: (inout Table) throws -> Void) {
        do {
            try body(&self)
        } catch {
            add(name, failed: error)
        }
    }

    /// Measures some rows asynchronously.
    fileprivate mutating func run(_ name: String, _ body: (inout Table) async throws -> Void) async {
        do {
            try await body(&self)
        } catch {
            add(name, failed: error)
        }
    }
}
