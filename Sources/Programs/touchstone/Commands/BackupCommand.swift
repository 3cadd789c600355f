import ArgumentParser

/// `touchstone backup`: an easier name to find for `migrate --export` and `migrate --import`.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract:
            "Write a backup of the secrets to a file, sealed under the recovery code, or bring one back.",
        discussion: """
            To make one: touchstone backup FILE asks for the recovery code. Keep the file anywhere; only the code \
            opens it. What belongs to this device alone is not in it, and is named.

            To bring it back, on a machine without a keychain: touchstone backup --restore FILE asks for the code and \
            for a new passcode.

            Where a keychain is damaged or its passcode and code are lost, touchstone start-over puts it aside first. \
            Without a backup and without the code nothing brings the secrets back.
            """
    )

    @Argument(help: ArgumentHelp("The backup's file.", valueName: "file"), completion: .file())
    var file: String

    @Flag(help: "Create this machine's keychain from the backup.")
    var restore = false

    @Flag(help: "Replace an existing file.")
    var replace = false

    @Flag(help: "Write what was saved or brought back as JSON.")
    var json = false

    func validate() throws {
        guard !restore || !replace else { throw ValidationError("--replace goes without --restore") }
    }

    func run() throws {
        var migrate = try MigrateCommand.parse([])
        if restore { migrate.importFile = file } else { migrate.exportFile = file }
        migrate.replace = replace
        migrate.json = json
        try migrate.run()
    }
}
