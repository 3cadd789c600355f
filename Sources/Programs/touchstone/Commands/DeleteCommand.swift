import ArgumentParser

/// `touchstone delete`: delete secrets.
struct DeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete secrets.",
        discussion: """
            Asks once on the terminal, unless --yes is given. Several names are deleted together or, when one of them \
            is not there, not at all.

            They are deleted for good, unless the keychain keeps such values (touchstone history): then what they require \
            is asked for, and touchstone undo brings them back.
            """,
        aliases: ["rm"]
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var names: [ItemName]

    @Flag(help: "Keep nothing of them, and delete what is kept.")
    var forGood = false

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    func run() throws {
        if !yes { try confirm() }
        let secrets = StoredSecrets()
        if !forGood, let end = try secrets.discard(names) {
            let until = DateText.local(microseconds: end)
            return Output.complain("Deleted; touchstone undo NAME brings it back until \(until).")
        }
        // A keychain that keeps no values has none.
        guard try !(forGood ? secrets.deleteForGood(names) : secrets.delete(names)) else { return }
        Output.complain(
            "deleted, not yet counted: the TPM does not answer, and until it does, an older copy of the keychain's "
                + "files would bring it back; the daemon tries again by itself, and touchstone status tells the rest"
        )
    }

    private func confirm() throws(CommandError) {
        let list = names.map { "'\(Printable.text($0.text))'" }.joined(separator: ", ")
        try Terminal.confirm("Delete \(list)?", otherwise: "nothing was deleted")
    }
}
