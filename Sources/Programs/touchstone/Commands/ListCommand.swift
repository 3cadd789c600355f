import ArgumentParser
import Glibc
import KeychainModel

/// `touchstone list`: list the names, without releasing secrets.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the secrets with their requirements and dates.",
        discussion: """
            On a terminal a table; otherwise one line each, separated by tabs: name, requirement, created, changed, \
            state, when. The state is 'usable', or 'lost' with the time at which a change of the enrolled fingers was \
            detected; when it can be read is 'unlocked' or 'first-unlock'.

            With a prefix such as web/, the names that begin with it; the exit status is 3 when there is none. --tree \
            writes what comes before a '/' once, and below it what follows, with what each secret requires.
            """,
        aliases: ["ls"]
    )

    @Argument(
        help: "Only the names that begin with this, which ends with '/'.",
        transform: NamePrefix.init(argument:)
    )
    var prefix: NamePrefix?

    @Flag(help: "Write the names as a tree, divided at '/'.")
    var tree = false

    @Flag(help: "Write JSON.")
    var json = false

    func validate() throws {
        guard !tree || !json else { throw ValidationError("--tree goes without --json") }
    }

    func run() throws {
        let secrets = try StoredSecrets().all().filter { prefix?.begins($0.name) ?? true }
        if let prefix, secrets.isEmpty {
            if json { Self.write([], json: true) }
            throw PrefixChange.nothing(under: prefix)
        }
        if secrets.isEmpty, !json, isatty(STDOUT_FILENO) == 1 {
            return Output.complain("There are no secrets yet: touchstone set NAME")
        }
        if tree { return NameTree.lines(of: secrets).forEach(Output.print) }
        Self.write(secrets, json: json)
    }

    /// Writes the attributes of secrets: as JSON, as a table on a terminal, otherwise as tab-separated lines.
    static func write(_ secrets: [StoredSecret], json: Bool) {
        if json {
            Output.print(JSONText.list(secrets.map(\.json)).rendered())
        } else if isatty(STDOUT_FILENO) == 1 {
            var table = Table(headings: ["NAME", "REQUIRES", "CREATED", "CHANGED", "STATE"])
            for secret in secrets { table.append(secret.columns) }
            for line in table.lines() { Output.print(line) }
        } else {
            for secret in secrets {
                Output.print(secret.fields.map(Printable.text).joined(separator: "\t"))
            }
        }
    }
}

extension StoredSecret {
    /// The columns of a table.
    fileprivate var columns: [String] {
        [name, accessControl.ruleName] + dates(DateText.local)
    }

    /// The fields of a line for programs.
    fileprivate var fields: [String] {
        [name, accessControl.requirementName] + dates(DateText.iso8601) + [readability.rawValue]
    }

    private var readability: Readability { Readability(accessControl.accessibility) }

    /// When it was created and changed, and whether it is lost.
    private func dates(_ date: (Int64) -> String) -> [String] {
        [created.map(date) ?? "-", modified.map(date) ?? "-", state(date)]
    }

    private func state(_ date: (Int64) -> String) -> String {
        guard invalidated != nil else { return "usable" }
        return lost(date).map { "lost \($0)" } ?? "lost"
    }

    /// When an invalidated secret was lost, if that is known.
    func lost(_ date: (Int64) -> String) -> String? {
        invalidated.flatMap { $0 > 0 ? date($0) : nil }
    }

    /// All attributes, for programs.
    var json: JSONText {
        .object([
            ("name", .text(name)),
            ("require", .text(accessControl.requirementName)),
            ("when", .text(readability.rawValue)),
            ("accessible", .optional(accessibility.map { String(describing: $0) })),
            ("created", .optional(created.map(DateText.iso8601))),
            ("changed", .optional(modified.map(DateText.iso8601))),
            ("state", .text(invalidated == nil ? "usable" : "lost")),
            ("lost", .optional(lost(DateText.iso8601))),
            ("reference", .optional(reference.map { HexText.of($0.octets) })),
        ])
    }
}
