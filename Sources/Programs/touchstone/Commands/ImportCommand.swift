import ArgumentParser
import Glibc
import KeychainModel

/// `touchstone import`: store the secrets of another program's export.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Store the secrets that another password manager exported.",
        discussion: """
            From a directory of pass, KeePassXC's XML, Bitwarden's JSON, the CSV of Chrome, Firefox or 1Password, or CXF 1.0. \
            Each entry becomes one secret: its password in the first line, then its fields, the key of its one-time codes and \
            its notes. The names come from folders and titles.

              touchstone import export.json --dry-run
              touchstone import ~/.password-store --prefix work/

            It can be repeated: what the keychain has already is not stored again. Where it has another secret of the same \
            name, its own stays unless --on-conflict says otherwise, and the name is shown. The export stays as it is.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The export's file, - for standard input, or pass's directory.",
            valueName: "file"
        ),
        completion: .file()
    )
    var path: String

    @Option(
        help: ArgumentHelp(
            "What the file is, if that is not recognised: \(ImportFormat.names).",
            valueName: "format"
        )
    )
    var format: ImportFormat?

    @Option(
        help: ArgumentHelp("Put this before each name; it ends with '/'.", valueName: "prefix"),
        transform: NamePrefix.init(argument:)
    )
    var prefix: NamePrefix?

    @Option(help: "What reading them requires: finger, passcode, either or none.")
    var require = Requirement.either

    @Option(help: Readability.help)
    var when = Readability.unlocked

    @Option(
        help: ArgumentHelp(
            """
            For another secret of the same name: keep leaves the keychain's, replace takes the export's, both adds the \
            export's with ' (import)' after its name.
            """,
            valueName: "keep | replace | both"
        )
    )
    var onConflict: ConflictChoice?

    @Flag(help: "Name what would be stored, and store nothing.")
    var dryRun = false

    @Flag(help: "Write the results as JSON.")
    var json = false

    func validate() throws {
        guard path != "" else { throw ValidationError("the file's name is empty") }
        guard prefix?.text.utf8.count ?? 0 <= ImportNames.longestPrefix else {
            throw ValidationError("--prefix takes at most \(ImportNames.longestPrefix) bytes here")
        }
        guard path != "-" || isatty(STDIN_FILENO) == 0 else {
            throw ValidationError("standard input is a terminal; pipe the export in, or name its file")
        }
    }

    func run() throws {
        let rule = try require.accessControl(when.accessibility)
        let source = try ImportFormat.read(path, as: format)
        var importer = try Importer(source.items, below: prefix, onConflict ?? .keep)
        if dryRun {
            let (results, isCompared) = importer.preview()
            tell(ImportReport(format: source.format, results: results, isDryRun: true))
            if !isCompared {
                Output.complain("What the keychain has is not known: it is locked, or cannot be reached.")
            }
            return
        }
        let report = ImportReport(format: source.format, results: try importer.run(rule), isDryRun: false)
        tell(report)
        if let removal = report.removal(of: path) { Output.complain(removal) }
        let (kept, failed) = (report.count(.kept), report.count(.failed))
        guard failed == 0 else {
            throw CommandError("\(failed) of \(report.results.count) entries could not be read")
        }
        guard kept > 0 else { return }
        throw CommandError(
            "the keychain has other secrets in the place of \(kept) of the export, and they were kept",
            hint: "touchstone import --on-conflict both adds the export's besides",
            exitCode: .existsAlready
        )
    }

    private func tell(_ report: ImportReport) {
        guard !json else { return Output.print(report.json.rendered()) }
        for line in report.lines { Output.print(line) }
        Output.print(report.summary)
    }
}
