import ArgumentParser
import KeychainClient
import KeychainModel

/// `touchstone recovery`: the commands for the recovery code.
struct RecoveryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery",
        abstract: "Check or replace the recovery code.",
        subcommands: [NewRecoveryCodeCommand.self, CheckRecoveryCodeCommand.self]
    )
}

/// `touchstone recovery new`: replace the recovery code.
struct NewRecoveryCodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Replace the recovery code with a new one, with the passcode.",
        discussion: """
            The new code is shown once and typed back; until then the former one stays. Afterwards the former code \
            still opens the backups written under it, and copies of the keychain's files from before.
            """
    )

    func run() throws {
        let prompt = PromptFields(origin: .current(), reason: "Replace the recovery code.")
        try RemoteKeychain.shared.changeRecoveryCode(prompt)
        Output.complain(
            "The new recovery code is set, and the former one no longer opens this keychain. It still opens the backups "
                + "written under it, and copies of the keychain's files from before."
        )
        Output.complain("Next: touchstone backup FILE")
    }
}

/// `touchstone recovery check`: check the recovery code.
struct CheckRecoveryCodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Type the recovery code and be told whether it is right.",
        discussion: """
            Nothing is changed, and the keychain may be locked. A backup is opened by the code it was written under, \
            which recovery new does not change. The exit status is 5 for another code.
            """
    )

    func run() throws {
        let prompt = PromptFields(origin: .current(), reason: "Check the recovery code.")
        try RemoteKeychain.shared.checkRecoveryCode(prompt)
        Output.complain(
            "That is this keychain's recovery code. Backups written under a former code are opened by that one alone."
        )
    }
}
