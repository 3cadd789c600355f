import ArgumentParser
import Glibc
import KeychainModel

/// `touchstone backup`: write a backup, look into one, or bring secrets back.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract:
            "Write a backup of the secrets to a file, sealed under the recovery code, or bring one back.",
        discussion: """
            To make one: touchstone backup FILE asks for a finger or the passcode, or for what the setting \
            backup-require says; with --code, for the recovery code, which also works where the keychain's files are \
            damaged. Keep the file anywhere; only the code opens it. What belongs to this device alone is not in it, \
            and is named. In a directory, a backup gets a name with the time, and --keep removes the oldest ones.

            By itself each day: backup-require = none in touchstoned.conf, and the user unit touchstone-backup.timer; \
            see touchstone(1).

            To look into it: --verify reads all of it and says how much it holds, --list names it. Both ask for its \
            code and change nothing; no keychain is needed.

            To bring it back, on a machine without a keychain: touchstone backup --restore FILE asks for the code and \
            for a new passcode. Into a keychain that is there: --restore FILE --merge asks for the backup's code and \
            for the keychain's passcode, and adds what is missing. Where the keychain has another secret of the same \
            name, its own stays unless --on-conflict says otherwise, and the name is shown. A merge that was \
            interrupted goes on when it is repeated.

            Where a keychain is damaged or its passcode and code are lost, touchstone start-over puts it aside first. \
            Without a backup and without the code nothing brings the secrets back.
            """
    )

    @Argument(
        help: ArgumentHelp("The backup's file, or a directory for backups.", valueName: "file"),
        completion: .file()
    )
    var path: String?

    @Option(
        help: ArgumentHelp(
            "Instead of a file: the command, run by /bin/sh, that gets the backup as its input.",
            valueName: "command"
        )
    )
    var toCommand: String?

    @Option(
        help: ArgumentHelp(
            "In a directory: keep this many backups and remove the oldest ones.",
            valueName: "number"
        )
    )
    var keep: Int?

    @Flag(help: "Ask for the recovery code to write the backup.")
    var code = false

    @Flag(help: "Read all of a backup and say whether it is whole.")
    var verify = false

    @Flag(help: "List what is in a backup, without releasing secrets.")
    var list = false

    @Flag(help: "Create this machine's keychain from the backup.")
    var restore = false

    @Flag(help: "Add what is missing to the keychain that is there, with --restore.")
    var merge = false

    @Option(help: ArgumentHelp("Only the secret of this name, with --merge. Repeatable.", valueName: "name"))
    var only: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            With --merge, for another secret of the same name: keep leaves the keychain's, replace takes the backup's, \
            both adds the backup's with ' (backup)' after its name.
            """,
            valueName: "keep | replace | both"
        )
    )
    var onConflict: ConflictChoice?

    @Flag(help: "Replace an existing file.")
    var replace = false

    @Flag(help: "Write what was saved, read or brought back as JSON.")
    var json = false

    func validate() throws {
        let verbs = [verify, list, restore].count { $0 }
        guard verbs <= 1 else { throw ValidationError("--verify, --list and --restore cannot be combined") }
        guard verbs == 0 || !replace else {
            throw ValidationError("--replace goes without --verify, --list and --restore")
        }
        guard (path == nil) != (toCommand == nil) else {
            throw ValidationError("either a file or --to-command is needed")
        }
        guard path != "" else { throw ValidationError("the file's name is empty") }
        guard verbs == 0 || !code && keep == nil && toCommand == nil else {
            throw ValidationError("--code, --keep and --to-command are for writing a backup")
        }
        guard toCommand == nil || keep == nil && !replace else {
            throw ValidationError("--keep and --replace go with a file")
        }
        if let keep, !(1...10_000).contains(keep) { throw ValidationError("--keep takes 1 to 10000") }
        guard restore || !merge else { throw ValidationError("--merge goes with --restore") }
        guard merge || only.isEmpty && onConflict == nil else {
            throw ValidationError("--only and --on-conflict go with --merge")
        }
        guard only.count <= ExportMerge.mostNames else {
            throw ValidationError("--only is given at most \(ExportMerge.mostNames) times")
        }
        guard only.allSatisfy({ !$0.isEmpty && $0.utf8.count <= ExportMerge.longestName }) else {
            throw ValidationError("a name has 1 to \(ExportMerge.longestName) bytes")
        }
    }

    func run() throws {
        if verify { return try verifyBackup() }
        if list { return try listBackup() }
        if merge { return try mergeBackup() }
        if restore { return try SealedExport.backup.createKeychain(from: file, json: json) }
        if let toCommand {
            let report = try SealedExport.backup.write(to: CommandInput(toCommand), toCommand, byCode: code)
            return SealedExport.backup.tell(report, "The command's input", json: json, next: nil)
        }
        try writeBackup()
    }

    /// The file; options that need one are refused without it.
    private var file: String { path ?? "" }

    private func writeBackup() throws {
        let directory = BackupDirectory(file)
        guard keep == nil || directory != nil else {
            throw CommandError("--keep needs a directory, and \(file) is none", exitCode: .validationFailure)
        }
        let target = directory?.newFile() ?? file
        let written = try ExportedFile(target, replaces: replace && directory == nil)
        let report = try SealedExport.backup.write(to: written, target, byCode: code)
        if let directory, let keep { try directory.keep(keep, latest: target) }
        let next = "touchstone backup --verify \(ShellWord.escaped(target))"
        SealedExport.backup.tell(report, target, json: json, next: "Next, to see that it is whole: \(next)")
    }

    private func verifyBackup() throws {
        let items = try SealedExport.backup.open(file)
        let programs = Set(items.map(\.group)).count
        guard !json else {
            let counts: [(String, JSONText)] = [
                ("file", .text(file)), ("items", .number(Int64(items.count))),
                ("programs", .number(Int64(programs))),
            ]
            return Output.print(JSONText.object(counts).rendered())
        }
        let whose = programs == 1 ? "1 program" : "\(programs) programs"
        Output.print("\(Printable.text(file)) is whole. Items: \(items.count), of \(whose).")
    }

    private func listBackup() throws {
        let items = try SealedExport.backup.open(file)
        if json { return Output.print(JSONText.list(items.map(\.json)).rendered()) }
        guard isatty(STDOUT_FILENO) == 1 else {
            for item in items {
                Output.print(item.columns.map(Printable.text).joined(separator: "\t"))
            }
            return
        }
        guard !items.isEmpty else { return Output.complain("The backup has no items.") }
        var table = Table(headings: ExportedItem.headings)
        for item in items { table.append(item.columns) }
        for line in table.lines() { Output.print(line) }
    }

    private func mergeBackup() throws {
        let choice = ExportMerge(names: only, conflicts: (onConflict ?? .keep).conflicts)
        let items = try SealedExport.backup.open(file, merge: choice)
        let kept = items.count { $0.outcome == .kept }
        if json {
            Output.print(JSONText.list(items.map(\.json)).rendered())
        } else {
            for line in items.compactMap(\.mergeLine) { Output.print(line) }
            let stored = items.count { [.added, .besides, .replaced].contains($0.outcome) }
            let same = items.count - stored - kept
            Output.print(
                "Items: \(items.count). Stored: \(stored). The same already: \(same). Kept: \(kept)."
            )
        }
        guard kept > 0 else { return }
        throw CommandError(
            "the keychain has other secrets in the place of \(kept) of the backup, and they were kept",
            hint: "touchstone backup --restore FILE --merge --on-conflict both adds the backup's besides",
            exitCode: .existsAlready
        )
    }
}

/// What a merge does where the keychain has another secret of the same name.
enum ConflictChoice: String, ExpressibleByArgument, CaseIterable {
    case keep, replace, both

    var conflicts: ExportMerge.Conflicts {
        switch self {
        case .keep: .keep
        case .replace: .replace
        case .both: .both
        }
    }
}
