import ArgumentParser
import KeychainClient
import KeychainModel

/// `touchstone migrate`: move the keychain to better hardware, or to another machine.
struct MigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Move the keychain: its key to this machine's TPM, or its secrets to another machine.",
        discussion: """
            Without an option the key moves to this machine's TPM, and the passcode stays: a keychain that was made \
            without a TPM goes on without it until it is moved. Nothing is lost when this ends in the middle: either \
            the old seal opens the keychain or the new one.

            To another machine: touchstone migrate --export FILE asks for the recovery code and seals the secrets \
            under it; touchstone migrate --import FILE, on a machine without a keychain, asks for the code and for a \
            new passcode. What belongs to this device alone stays, and is named. The old keychain stays as it is.
            """
    )

    @Option(
        name: .customLong("export"),
        help: ArgumentHelp("Seal the secrets under the recovery code into this file.", valueName: "file"),
        completion: .file()
    )
    var exportFile: String?

    @Option(
        name: .customLong("import"),
        help: ArgumentHelp("Create this machine's keychain from an export.", valueName: "file"),
        completion: .file()
    )
    var importFile: String?

    @Flag(help: "Replace an existing file.")
    var replace = false

    @Flag(help: "Write what was moved as JSON.")
    var json = false

    func validate() throws {
        guard exportFile == nil || importFile == nil else {
            throw ValidationError("--export and --import cannot be combined")
        }
        guard exportFile != nil || !replace else { throw ValidationError("--replace goes with --export") }
        guard exportFile != nil || importFile != nil || !json else {
            throw ValidationError("--json goes with --export or --import")
        }
    }

    func run() throws {
        if let exportFile {
            let file = try ExportedFile(exportFile, replaces: replace)
            let report = try SealedExport.move.write(to: file, exportFile, byCode: true)
            let next = "touchstone migrate --import \(ShellWord.escaped(exportFile))"
            return SealedExport.move.tell(
                report,
                exportFile,
                json: json,
                next: "Next, on the other machine: \(next)"
            )
        }
        if let importFile { return try SealedExport.move.createKeychain(from: importFile, json: json) }
        let keychain = RemoteKeychain.shared
        let status = try keychain.status()
        try Self.checkMayMove(status)
        let before = status.assurance
        let reason = "Move the keychain's key to this machine's TPM."
        try keychain.migrate(PromptFields(origin: .current(), reason: reason))
        let after = try keychain.status()
        Output.print(
            "The keychain has moved: its assurance was \(before.name) and is \(after.assurance.name)."
        )
        for reason in after.assuranceReasons { Output.print("  \(Printable.text(reason))") }
    }

    /// Checks that the keychain can move, before the user is asked for a passcode.
    private static func checkMayMove(_ status: StatusReply) throws(CommandError) {
        guard status.keybag != .notSetUp, status.keybag != .damaged else { return }
        let elsewhere = "its secrets go to another machine by: touchstone backup FILE"
        switch status.assurance {
        case .tpm, .tpmWeak:
            throw CommandError(
                "the keychain is sealed to this machine's TPM already; there is nothing to move",
                hint: elsewhere,
                exitCode: .existsAlready
            )
        case .softwareUser, .softwareSystem:
            // The daemon suggests it if there is a TPM that the keychain could move to.
            guard !status.assuranceReasons.contains(where: { $0.contains("touchstone migrate") }) else {
                return
            }
            let reasons = status.assuranceReasons.joined(separator: "; ")
            throw CommandError(
                "there is no TPM that the keychain could move to" + (reasons.isEmpty ? "" : ": \(reasons)"),
                hint: elsewhere,
                exitCode: .notAvailable
            )
        case .test: return
        }
    }
}
