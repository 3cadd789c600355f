import ArgumentParser
import KeychainClient
import KeychainModel

/// `touchstone start-over`: put the keychain aside.
struct StartOverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "start-over",
        abstract: "Put the keychain aside, so that another one can be created.",
        discussion: """
            For a keychain that is damaged, or whose passcode and recovery code are lost. Asks for two words, no \
            passcode. All its files go into a new directory, former-1, former-2, ..., in the data directory, which \
            touchstone doctor names. Nothing is removed: with the files put back while the daemon is stopped, the \
            keychain is there again.

            Then: touchstone setup, or touchstone backup --restore FILE.
            """
    )

    func run() throws {
        let prompt = PromptFields(origin: .current(), reason: "Put the keychain aside and start over.")
        try RemoteKeychain.shared.startOver(prompt)
        Output.complain("The keychain's files are in the newest directory former-N of the data directory.")
        Output.complain("Next: touchstone setup, or touchstone backup --restore FILE")
    }
}
