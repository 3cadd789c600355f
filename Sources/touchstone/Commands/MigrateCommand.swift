import ArgumentParser
import KeychainClient
import KeychainModel

/// `touchstone migrate`: the same keychain behind better hardware.
struct MigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Move the keychain's key to this machine's TPM; the passcode stays.",
        discussion: """
            A keychain that was made without a TPM goes on without it until it is moved. Nothing is lost when this \
            ends in the middle: either the old seal opens the keychain or the new one.
            """
    )

    func run() throws {
        let keychain = RemoteKeychain.shared
        let before = try keychain.status().assurance
        let reason = "Move the keychain's key to this machine's TPM."
        try keychain.migrate(PromptFields(origin: .current(), reason: reason))
        let after = try keychain.status()
        Output.print(
            "The keychain has moved: its assurance was \(before.name) and is \(after.assurance.name)."
        )
        for reason in after.assuranceReasons { Output.print("  \(Printable.text(reason))") }
    }
}
