internal import ArgumentParser
internal import TouchstoneServer

/// The command `touchstone-server check-config`.
struct CheckConfig: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract:
            "Read the configuration and the files it names, try the database, and print the settings in effect."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.read()
        do { print(try await configuration.check()) } catch { throw Failure.report(error) }
    }
}

/// The command `touchstone-server migrate`.
struct Migrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Migrate the database to the current version, or create it."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() throws {
        let configuration = try options.read()
        let (from, to) = try Failure.reported { try ServerProgram.migrate(configuration) }
        print(from == to ? "up to date (version \(to))" : "migrated from version \(from) to \(to)")
    }
}

/// The command `touchstone-server verify-audit`.
struct VerifyAudit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify-audit",
        abstract: "Check that no event of the audit log was changed or removed, also while servers run.",
        discussion: """
            The chains show what was changed or removed between their events; that the last ones
            were removed only a head shows, which was written before (audit-head-file).
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Option(
        help: ArgumentHelp(
            "Compare with a file of heads, or with audit-head-file, in which this head has to be.",
            valueName: "file|head"
        )
    )
    var head: String?

    func run() async throws {
        let configuration = try options.read()
        let progress = CountProgress("events checked")
        do {
            let text = try await ServerProgram.verifyAudit(configuration, head: head, progress: progress.show)
            progress.end()
            print(text)
        } catch {
            progress.end()
            throw Failure.report(error)
        }
    }
}

/// The command `touchstone-server import-users`.
struct ImportUsers: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import-users",
        abstract: "Make accounts with password hashes of another program, also while servers run.",
        discussion: """
            Each line is a JSON object: username; displayName, passwordHash and mustChangePassword
            may be left out. Hashes are bcrypt, argon2id, argon2i, scrypt and yescrypt. A hash is
            replaced by the server's own when its owner signs in. Names that are there are passed
            over. Lines that are refused are named on standard error; the exit status is then 65.
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Only check the lines: write nothing.")
    var dryRun = false

    @Argument(help: "The file; - is standard input.", completion: .file())
    var file: String

    func run() async throws {
        let configuration = try options.read()
        let progress = CountProgress("lines")
        let summary: UserImportSummary
        do {
            summary = try await ServerProgram.importUsers(
                configuration,
                from: file,
                isDryRun: dryRun,
                refused: { line in
                    progress.end()
                    Failure.say(line)
                },
                progress: progress.show
            )
            progress.end()
        } catch {
            progress.end()
            throw Failure.report(error)
        }
        print(summary)
        if summary.refused > 0 { throw Failure.data }
    }
}

/// The command `touchstone-server version`.
struct ShowVersion: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "version", abstract: "Print the version.")

    func run() { print(ServerVersion.text) }
}
