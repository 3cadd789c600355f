import ArgumentParser
import KeychainClient
import KeychainModel

/// `touchstone repair`: repair damaged items.
struct RepairCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Show which items are damaged, older or missing, and keep the intact ones.",
        discussion: """
            Asks for the passcode, and without an option changes nothing. With --accept, the intact items become the \
            current state: older states of secrets are kept, because nothing newer is there; damaged ones, and deleted \
            ones that came back, are left out; what a damaged log of recent changes held is saved. The former file \
            stays beside the new one.

            The exit status is 0 when nothing is wrong, or the intact items are kept now; otherwise 9.
            """
    )

    @Flag(help: "Keep the intact items and accept them as the current state.")
    var accept = false

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let reason =
            accept
            ? "Accept the stored secrets as they are now." : "See what is wrong with the stored secrets."
        let keychain = RemoteKeychain.shared
        let progress = Progress(accept ? "Repairing" : "Checking")
        defer { progress.clear() }
        let prompt = PromptFields(origin: .current(), reason: reason)
        let repair = try keychain.repair(prompt, accepting: accept, progress: progress.show)
        progress.clear()
        if json {
            Output.print(repair.json.rendered())
        } else {
            for line in repair.lines { Output.print(Printable.text(line)) }
        }
        if !repair.isWell, repair.keptAside == nil { throw ExitCode.damaged }
    }
}

extension StoreRepair {
    fileprivate var lines: [String] {
        guard !isWell else { return ["Nothing is wrong: \(Self.count(kept)), all authentic."] }
        var lines: [String] = []
        if isLogDamaged {
            lines.append(
                isLogSaved
                    ? "The log of recent changes is damaged; all that it held can be saved."
                    : "The log of recent changes is damaged; some of what it held may be lost."
            )
        }
        if isFileDamaged { lines.append("The file of the items is damaged.") }
        if isRecordDamaged {
            lines.append(
                "The record of all items is damaged: older or missing items cannot be detected."
            )
        }
        for item in items {
            lines.append("\(item.finding.word)  \(item.name ?? "(its name cannot be read)")")
        }
        if unnamed > 0 { lines.append("and \(Self.count(unnamed)) more") }
        if missing > 0 { lines.append("missing  \(Self.count(missing)), names unknown") }
        if let keptAside {
            lines.append("\(Self.count(kept)) kept. The former file is \(keptAside), beside the new one.")
            lines.append("When nothing in it is needed any more, remove it: it holds sealed secrets.")
        } else {
            lines.append("\(Self.count(kept)) can be kept: touchstone repair --accept")
        }
        return lines
    }

    private static func count(_ count: Int) -> String { count == 1 ? "1 item" : "\(count) items" }

    fileprivate var json: JSONText {
        .object([
            (
                "items",
                .list(
                    items.map { item in
                        .object([
                            ("finding", .text(item.finding.word)), ("name", .optional(item.name)),
                            ("group", .text(item.group)),
                        ])
                    }
                )
            ),
            ("unnamed", .number(Int64(unnamed))),
            ("missing", .number(Int64(missing))),
            ("kept", .number(Int64(kept))),
            ("logDamaged", .flag(isLogDamaged)),
            ("logSaved", .flag(isLogSaved)),
            ("recordDamaged", .flag(isRecordDamaged)),
            ("fileDamaged", .flag(isFileDamaged)),
            ("keptAside", .optional(keptAside)),
        ])
    }
}

extension StoreRepair.Finding {
    fileprivate var word: String {
        switch self {
        case .older: "older"
        case .damaged: "damaged"
        case .deleted: "deleted"
        }
    }
}
