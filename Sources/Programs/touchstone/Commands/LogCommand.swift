import ArgumentParser
import Glibc
import KeychainClient
import KeychainModel

/// `touchstone log`: show the daemon's log.
struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract:
            "Show the daemon's log: what was authenticated, refused and noticed; or which program got which secret.",
        discussion: """
            It names no secret. With --follow, the last 10 entries and then new ones as they are written, until it is \
            interrupted. The log of a daemon that systemd started is in the journal instead: \
            journalctl --user -u touchstoned, and in system mode journalctl -u touchstoned@UID.

              touchstone log --reads     which program got which secret, or used which key

            These records are kept in the keychain for 30 days (the setting keep-reads) and name secrets. On a terminal a \
            table; otherwise one line each, separated by tabs: time, program, what started it, what it did, with which \
            secret, what that requires, what was shown, how often.
            """
    )

    @Flag(name: [.short, .long], help: "Go on with new entries as they are written.")
    var follow = false

    @Flag(help: "Show which program got which secret.")
    var reads = false

    @Option(help: ArgumentHelp("Begin with this many of the last entries.", valueName: "number"))
    var lines: Int?

    @Flag(help: "Write JSON, one object on each line.")
    var json = false

    func validate() throws {
        guard lines ?? 0 >= 0 else { throw ValidationError("--lines takes 0 or more") }
        guard !reads || !follow else { throw ValidationError("--reads does not follow: ask again") }
    }

    func run() throws {
        guard !reads else { return try showReads() }
        guard let layout = Layout(variable: Environment.secureValue) else {
            throw CommandError(
                "HOME is not set to an absolute path",
                hint: "set HOME",
                exitCode: .notAvailable
            )
        }
        var reader = LogReader(in: layout.dataDirectory)
        guard reader.isThere else { throw Self.nothing(in: layout.dataDirectory) }
        // Before the first read, so that nothing is missed between the two.
        let watch = follow ? LogWatch(layout.dataDirectory) : nil
        let old = try reader.formerLines() + reader.newLines()
        old.suffix(lines ?? (follow ? 10 : old.count)).forEach(write)
        try noteOtherPlace(old)
        guard let watch else { return }
        StopKey.release()
        while true {
            switch try watch.wait() {
            case .changed: try reader.newLines().forEach(write)
            case .readerGone: return
            case .directoryGone:
                throw CommandError(
                    "\(layout.dataDirectory) was removed or moved, and the log with it",
                    hint: "touchstone status"
                )
            }
        }
    }

    private func showReads() throws {
        let entries = try ReadRecords().last(lines)
        if json {
            for entry in entries { Output.print(entry.json.renderedOnOneLine()) }
        } else if isatty(STDOUT_FILENO) != 1 {
            for entry in entries {
                let cells = entry.columns(DateText.iso8601).map(Printable.text)
                Output.print(cells.joined(separator: "\t"))
            }
        } else if entries.isEmpty {
            Output.complain("No program got a secret in the time for which that is kept.")
        } else {
            var table = Table(headings: ReadRecords.Entry.headings)
            for entry in entries { table.append(entry.columns(DateText.local)) }
            for line in table.lines() { Output.print(line) }
        }
    }

    private func write(_ line: String) {
        guard json else { return Output.print(Printable.text(line)) }
        Output.print((LogEntry(line)?.json ?? .object([("line", .text(line))])).renderedOnOneLine())
    }

    /// Says so if the daemon that runs is not the one that began the log's last part.
    private func noteOtherPlace(_ lines: [String]) throws {
        let starts = lines.lazy.compactMap(LogEntry.init).filter { $0.message == "listening" }
        guard let last = starts.compactMap({ $0.value(of: "pid") }).last,
            let process = try? RemoteKeychain(daemon: .none).status().daemonProcess, "\(process)" != last
        else { return }
        Output.complain(
            "The daemon that runs now, process \(process), writes to the journal: journalctl --user -u touchstoned, or in "
                + "system mode journalctl -u touchstoned@UID"
        )
    }

    private static func nothing(in directory: String) -> CommandError {
        CommandError(
            "there is no log in \(directory)",
            hint:
                "a daemon that systemd started logs to the journal: journalctl --user -u touchstoned, or in system mode "
                + "journalctl -u touchstoned@UID",
            exitCode: .notFound
        )
    }
}
