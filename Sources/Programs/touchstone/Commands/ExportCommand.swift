import ArgumentParser
import KeychainClient
import KeychainModel
import SecretMemory

/// `touchstone export`: write all secrets for another program.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write all secrets in plain text, for another password manager.",
        discussion: """
            The file is in CXF 1.0, the FIDO Alliance's Credential Exchange Format, as JSON, and it is not encrypted: whoever \
            reads it has the secrets. The passcode is asked for in any case, and a finger too if a secret requires one. What \
            belongs to apps and other programs is not in it. To keep secrets, make a backup: touchstone backup
            """
    )

    @Argument(help: ArgumentHelp("The file to write.", valueName: "file"), completion: .file())
    var path: String

    @Option(help: "The form of the file: cxf.")
    var format = ExportFormat.cxf

    @Flag(help: "Replace an existing file.")
    var replace = false

    func validate() throws {
        guard !path.isEmpty else { throw ValidationError("the file's name is empty") }
    }

    func run() throws {
        let file = try ExportedFile(path, replaces: replace)
        let secrets = StoredSecrets()
        let context = secrets.keychain.makeContextNumber()
        let reason = "Write all secrets in plain text to '\(path)'."
        try confirm(reason, context)
        let all = try secrets.all(context: context)
        var writer = try CXFWriter(file)
        let progress = Progress("Exporting")
        var missing: [(name: String, reason: String)] = []
        var done = 0
        do {
            defer { progress.clear() }
            // What the first ones require covers the later ones.
            for secret in all.sorted(by: { $0.accessControl.releaseOrder < $1.accessControl.releaseOrder }) {
                if let fault = try write(secret, to: &writer, reason, context) {
                    missing.append((secret.name, fault))
                }
                done += 1
                progress.showLater(done, all.count)
            }
        }
        try writer.finish()
        for (name, fault) in missing {
            Output.print("left out  \(Printable.text(name)): \(Printable.text(fault))")
        }
        Output.print(
            "Secrets: \(all.count). Written: \(all.count - missing.count). Left out: \(missing.count)."
        )
        Output.complain(
            "\(Printable.text(path)) has them in plain text. Once it is imported elsewhere: "
                + "shred -u \(ShellWord.escaped(path)); see touchstone(1), import, for what that does not reach."
        )
    }

    /// Asks for the passcode, whatever the secrets require.
    private func confirm(_ reason: String, _ context: UInt64) throws {
        let keychain = RemoteKeychain.shared
        let request = EvaluateAccessControl(
            accessControl: try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode),
            operation: Int64(AccessOperation.useItem.rawValue),
            context: context,
            reuseSeconds: 0,
            prompt: StoredSecrets().prompt(reason)
        )
        _ = try keychain.evaluateAccessControl(request)
    }

    /// Releases a secret and writes it; why it stays behind, if it does.
    private func write(
        _ stored: StoredSecret,
        to writer: inout CXFWriter,
        _ reason: String,
        _ context: UInt64
    ) throws -> String? {
        guard stored.invalidated == nil else { return "it is lost, the enrolled fingers have changed" }
        let name = try ItemName(argument: stored.name)
        let secret: SecretBytes
        do throws(CommandError) {
            secret = try StoredSecrets().read(name, reason: reason, context: context)
        } catch {
            // No sensor, for example.
            guard error.exitCode == .notAvailable || error.exitCode == .lockedOut else { throw error }
            return error.message
        }
        return try writer.add(stored, secret) ? nil : "it is not text"
    }
}

/// The forms of an export.
enum ExportFormat: String, CaseIterable, ExpressibleByArgument {
    case cxf
}
