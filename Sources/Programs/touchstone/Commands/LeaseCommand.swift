import ArgumentParser
import Glibc
import KeychainModel

/// `touchstone lease`: gestures that still count.
struct LeaseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lease",
        abstract: "Show which programs may read which secrets now because you gave a gesture, and end that.",
        discussion: """
            A gesture for a secret of another program counts for that program alone: for 10 seconds and 3 reads, or for the \
            time of touchstone protect --window. It ends with a lock and with the program.

              touchstone lease
              touchstone lease end --all
            """,
        subcommands: [ListLeasesCommand.self, EndLeasesCommand.self],
        defaultSubcommand: ListLeasesCommand.self
    )
}

/// `touchstone lease list`.
struct ListLeasesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the gestures that count now.",
        discussion: """
            On a terminal a table; otherwise one line each, separated by tabs: number, program, process, seconds left, reads \
            left (any, or a number), label of the secret.
            """
    )

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let leases = try Lease.all()
        if json { return Output.print(JSONText.list(leases.map(\.json)).rendered()) }
        guard isatty(STDOUT_FILENO) == 1 else {
            for lease in leases { Output.print(lease.columns.map(Printable.text).joined(separator: "\t")) }
            return
        }
        if leases.isEmpty { return Output.complain("No gesture counts now.") }
        var table = Table(headings: ["NUMBER", "PROGRAM", "PROCESS", "SECONDS", "READS", "SECRET"])
        for lease in leases { table.append(lease.columns) }
        for line in table.lines() { Output.print(line) }
    }
}

/// `touchstone lease end`.
struct EndLeasesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end",
        abstract: "End gestures that still count: the program has to ask again.",
        discussion: """
              touchstone lease end 4
              touchstone lease end --all
            """
    )

    @Argument(help: "Numbers from touchstone lease list.")
    var numbers: [UInt64] = []

    @Flag(help: "End all.")
    var all = false

    func validate() throws {
        guard all == numbers.isEmpty else {
            throw ValidationError("say numbers from touchstone lease list, or --all")
        }
        guard !numbers.contains(0) else { throw ValidationError("no lease has the number 0") }
    }

    func run() throws {
        if all {
            let count = try Lease.end(0)
            return Output.complain(count == 1 ? "1 gesture ended." : "\(count) gestures ended.")
        }
        for number in numbers where try Lease.end(number) == 0 {
            throw CommandError(
                "no gesture \(number) counts now",
                hint: "touchstone lease list",
                exitCode: .notFound
            )
        }
    }
}

extension Lease {
    fileprivate var columns: [String] {
        [
            String(number), program, String(process), String(secondsLeft),
            readsLeft.map { String($0) } ?? "any",
            label,
        ]
    }

    fileprivate var json: JSONText {
        .object([
            ("number", .number(Int64(clamping: number))), ("program", .text(program)),
            ("process", .number(Int64(process))), ("secondsLeft", .number(secondsLeft)),
            ("readsLeft", readsLeft.map(JSONText.number) ?? .null), ("secret", .text(label)),
        ])
    }
}
