import ArgumentParser

/// `touchstone delete`: delete a secret for good.
struct DeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a secret for good.",
        discussion: "Asks once on the terminal, unless --yes is given."
    )

    @Argument(help: ItemName.help, completion: ItemName.completion, transform: ItemName.init(argument:))
    var name: ItemName

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    func run() throws {
        if !yes { try confirm() }
        try StoredSecrets().delete(name)
    }

    private func confirm() throws(CommandError) {
        guard let terminal = Terminal() else {
            throw CommandError(
                "there is no terminal to ask on; nothing was deleted",
                hint: "say --yes to delete without being asked",
                exitCode: .notInteractive
            )
        }
        let answer = try terminal.ask("Delete '\(Printable.text(name.text))'? [y/N] ") ?? ""
        guard ["y\n", "Y\n", "yes\n"].contains(answer) else {
            throw CommandError("nothing was deleted", exitCode: .cancelled)
        }
    }
}
