import ArgumentParser

/// `touchstone delete`: delete secrets for good.
struct DeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete secrets for good.",
        discussion: """
            Asks once on the terminal, unless --yes is given. Several names are deleted together or, when one of them \
            is not there, not at all.
            """,
        aliases: ["rm"]
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var names: [ItemName]

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    func run() throws {
        if !yes { try confirm() }
        let isCounted: Bool
        if names.count == 1, let name = names.first {
            isCounted = try StoredSecrets().delete(name)
        } else {
            isCounted = try StoredSecrets().delete(names)
        }
        guard !isCounted else { return }
        Output.complain(
            "deleted, not yet counted: the TPM does not answer, and until it does, an older copy of the keychain's "
                + "files would bring it back; the daemon tries again by itself, and touchstone status tells the rest"
        )
    }

    private func confirm() throws(CommandError) {
        guard let terminal = Terminal() else {
            throw CommandError(
                "there is no terminal to ask on; nothing was deleted",
                hint: "say --yes to delete without being asked",
                exitCode: .notInteractive
            )
        }
        let list = names.map { "'\(Printable.text($0.text))'" }.joined(separator: ", ")
        let answer = try terminal.ask("Delete \(list)? [y/N] ") ?? ""
        guard ["y\n", "Y\n", "yes\n"].contains(answer) else {
            throw CommandError("nothing was deleted", exitCode: .cancelled)
        }
    }
}
