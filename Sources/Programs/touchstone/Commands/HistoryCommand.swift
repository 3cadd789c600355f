import ArgumentParser
import Glibc
import KeychainClient
import KeychainModel

/// `touchstone history`: the values that secrets had before.
struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List the values that secrets had before, and choose how many are kept.",
        discussion: """
            A keychain keeps none until it is told to. Then the value of a secret that is replaced or deleted stays, sealed \
            as it was: reading it requires what the secret required, and so does deleting the secret. The daemon deletes it \
            when its time is over, or at the next unlock. What git's and docker's helpers store, and what a merged backup \
            replaces, is not kept.

              touchstone history --keep 10 --days 30
              touchstone history mail
              touchstone get mail --former 1
              touchstone undo mail

            On a terminal a table; otherwise one line each, separated by tabs: name, number, when the value was stored, when \
            it was replaced or deleted, 'replaced' or 'deleted', requirement, until when it is kept. The newest value of a name \
            has the number 1; in the list of all names it is '-'. The exit status is 3 when nothing of NAME is kept.
            """
    )

    @Argument(
        help: ArgumentHelp("The secret whose values are listed; all without it.", valueName: "name"),
        transform: ItemName.init(argument:)
    )
    var name: ItemName?

    @Option(help: "Keep this many values of each secret, 1 to 100.")
    var keep: Int?

    @Option(help: "Keep each value for this many days, 1 to 3650.")
    var days: Int?

    @Flag(help: "Keep no values, and delete those that are kept.")
    var off = false

    @Flag(help: "Delete the kept values of NAME.")
    var forget = false

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    @Flag(help: "Write JSON.")
    var json = false

    private var isSetting: Bool { keep != nil || days != nil }

    func validate() throws {
        if let keep, !HistorySetting.values.contains(keep) { throw ValidationError("--keep takes 1 to 100") }
        if let days, !HistorySetting.days.contains(days) { throw ValidationError("--days takes 1 to 3650") }
        guard [isSetting, off, forget, json].filter(\.self).count <= 1 else {
            throw ValidationError("--keep and --days, --off, --forget and --json are used one at a time")
        }
        guard name == nil || !isSetting && !off else {
            throw ValidationError("--keep, --days and --off hold for all secrets; no name goes with them")
        }
        guard !forget || name != nil else { throw ValidationError("--forget needs a name") }
        guard !yes || off || forget else { throw ValidationError("--yes goes with --off and --forget") }
    }

    func run() throws {
        let secrets = StoredSecrets()
        if isSetting { return try set(secrets) }
        if off { return try end(secrets) }
        let kept =
            try name.map { name throws(CommandError) in try secrets.keptValues(of: name) }
            ?? secrets.keptValues()
        if forget, let name { return try forget(kept, of: name, secrets) }
        if let name, kept.isEmpty {
            if json { write([]) }
            throw try secrets.nothingKept(of: name)
        }
        if !json, name == nil, isatty(STDOUT_FILENO) == 1 {
            Output.complain(
                try secrets.historySetting()?.sentence
                    ?? "No values are kept; touchstone history --keep \(HistorySetting.usual.keep) keeps them."
            )
            if kept.isEmpty { return }
        }
        write(kept)
    }

    private func set(_ secrets: StoredSecrets) throws(CommandError) {
        var setting = try secrets.historySetting() ?? .usual
        if let keep { setting.keep = keep }
        if let days { setting.days = days }
        try secrets.setHistory(setting)
        try secrets.prune(setting)
        Output.complain(setting.sentence)
    }

    private func end(_ secrets: StoredSecrets) throws(CommandError) {
        let kept = try secrets.keptValues()
        if !yes, !kept.isEmpty { try Self.confirm("Delete all \(Self.count(kept.count))?") }
        try secrets.setHistory(nil)
        // Once more: what another command kept meanwhile.
        try secrets.delete(secrets.keptValues())
        Output.complain("No values are kept.")
    }

    private func forget(
        _ kept: [KeptValue],
        of name: ItemName,
        _ secrets: StoredSecrets
    ) throws(CommandError) {
        guard !kept.isEmpty else {
            return Output.complain("No value of '\(Printable.text(name.text))' is kept.")
        }
        if !yes { try Self.confirm("Delete \(Self.count(kept.count)) of '\(Printable.text(name.text))'?") }
        try secrets.delete(kept)
    }

    private static func count(_ count: Int) -> String {
        count == 1 ? "1 kept value" : "\(count) kept values"
    }

    private static func confirm(_ question: String) throws(CommandError) {
        try Terminal.confirm(question, otherwise: "nothing was deleted")
    }

    // MARK: The list

    private func write(_ kept: [KeptValue]) {
        // Among the values of one secret.
        func number(_ index: Int) -> Int64? { name == nil ? nil : Int64(index) + 1 }
        if json {
            return Output.print(JSONText.list(kept.enumerated().map { Self.json($1, number($0)) }).rendered())
        }
        guard isatty(STDOUT_FILENO) == 1 else {
            for (index, value) in kept.enumerated() {
                let fields = [
                    value.name, number(index).map { String($0) } ?? "-",
                    value.item.modified.map(DateText.iso8601) ?? "-",
                    DateText.iso8601(microseconds: value.time), value.change.rawValue,
                    value.item.accessControl.requirementName, DateText.iso8601(microseconds: value.end),
                ]
                Output.print(fields.map(Printable.text).joined(separator: "\t"))
            }
            return
        }
        var table = Table(headings: ["NAME", "NUMBER", "STORED", "CHANGED", "REQUIRES", "KEPT UNTIL"])
        for (index, value) in kept.enumerated() {
            let state = value.item.invalidated == nil ? "" : ", lost"
            table.append([
                value.name, number(index).map { String($0) } ?? "-",
                value.item.modified.map(DateText.local) ?? "-",
                "\(value.change.rawValue) \(DateText.local(microseconds: value.time))",
                value.item.accessControl.ruleName + state, DateText.local(microseconds: value.end),
            ])
        }
        for line in table.lines() { Output.print(line) }
    }

    private static func json(_ value: KeptValue, _ number: Int64?) -> JSONText {
        .object([
            ("name", .text(value.name)),
            ("number", .optional(number)),
            ("stored", .optional(value.item.modified.map(DateText.iso8601))),
            ("changed", .text(DateText.iso8601(microseconds: value.time))),
            ("change", .text(value.change.rawValue)),
            ("require", .text(value.item.accessControl.requirementName)),
            ("until", .text(DateText.iso8601(microseconds: value.end))),
            ("state", .text(value.item.invalidated == nil ? "usable" : "lost")),
        ])
    }
}
