import ArgumentParser
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory

/// `touchstone edit`: change a secret in an editor.
struct EditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Change a secret in an editor.",
        discussion: """
            Runs $VISUAL or $EDITOR on a file in memory (tmpfs) that nobody else can read and that is wiped afterwards. \
            What the secret requires is asked for once, and stays. An editor may keep copies elsewhere: Vim is told \
            not to if it is found by its name; others are not, and programs of the same user can read the file while \
            it is there.
            """
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var name: ItemName

    func run() throws {
        // Before the user is prompted.
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandError(
                "standard input is not a terminal, which an editor needs",
                hint: "store another value: touchstone set --replace \(ShellWord.argument(name.text))",
                exitCode: .notInteractive
            )
        }
        let editor = try Editor()
        let context = RemoteKeychain.shared.makeContextNumber()
        let secrets = StoredSecrets()
        let old = try secrets.read(name, reason: "Edit '\(name.text)'.", context: context)
        let file = try EditedFile()
        let new = try file.edit(old, with: editor)
        guard !new.matches(old) else { return Output.complain("Nothing was changed.") }
        guard new.count > 0 else {
            throw CommandError(
                "the secret is empty; nothing was changed",
                hint: "touchstone delete removes it"
            )
        }
        try save(new, in: secrets, context)
        Output.complain("Changed '\(Printable.text(name.text))'.")
    }

    /// Offers another attempt after a failure, so that a cancelled prompt does not lose the typed text.
    private func save(_ new: borrowing SecretBytes, in secrets: StoredSecrets, _ context: UInt64)
        throws(CommandError)
    {
        while true {
            do throws(CommandError) {
                return try secrets.replaceValue(name, CommandMemory.copy(of: new), context: context)
            } catch {
                Output.complain("error: \(Printable.text(error.message)); the change is not saved")
                guard let terminal = Terminal() else { throw error }
                let answer = try terminal.ask("Try again? [Y/n] ") ?? "n"
                guard ["\n", "y\n", "Y\n", "yes\n"].contains(answer) else { throw error }
            }
        }
    }
}
