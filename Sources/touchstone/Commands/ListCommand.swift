import ArgumentParser
import Glibc
import KeychainModel

/// `touchstone list`: the names, without releasing anything.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the secrets, with what each demands and its dates.",
        discussion: """
            On a terminal a table; otherwise one line each, separated by tabs: name, requirement, created, changed.
            """,
        aliases: ["ls"]
    )

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let secrets = try StoredSecrets().all()
        if secrets.isEmpty, !json, isatty(STDOUT_FILENO) == 1 {
            return Output.complain("There are no secrets yet: touchstone set NAME")
        }
        Self.write(secrets, json: json)
    }

    /// Writes what is known of secrets: as JSON, as a table on a terminal, otherwise as lines with tabs.
    static func write(_ secrets: [StoredSecret], json: Bool) {
        if json {
            Output.print(JSONText.list(secrets.map(\.json)).rendered())
        } else if isatty(STDOUT_FILENO) == 1 {
            var table = Table(headings: ["NAME", "DEMANDS", "CREATED", "CHANGED"])
            for secret in secrets { table.append(secret.columns) }
            for line in table.lines() { Output.print(line) }
        } else {
            for secret in secrets { Output.print(secret.columns.map(Printable.text).joined(separator: "\t")) }
        }
    }
}

extension StoredSecret {
    fileprivate var columns: [String] {
        [name, accessControl.requirementName, date(created), date(modified)]
    }

    /// All that is known, for programs.
    var json: JSONText {
        .object([
            ("name", .text(name)),
            ("require", .text(accessControl.requirementName)),
            ("accessible", .optional(accessibility?.rawValue)),
            ("created", .optional(created.map(DateText.iso8601))),
            ("changed", .optional(modified.map(DateText.iso8601))),
            ("reference", .optional(reference.map { HexText.of($0.octets) })),
        ])
    }

    private func date(_ microseconds: Int64?) -> String { microseconds.map(DateText.iso8601) ?? "-" }
}

/// Octets in hexadecimal.
enum HexText {
    static func of(_ octets: [UInt8]) -> String {
        octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
