import ArgumentParser

/// `touchstone rename`: give a secret another name.
struct RenameCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Give a secret another name.",
        discussion: """
            Secret, requirement and dates stay, and there is no moment without the secret. Whatever it requires is \
            asked for once, as for every change. A name that is taken is refused.
            """,
        aliases: ["mv"]
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var name: ItemName

    @Argument(help: "Its new name.", transform: ItemName.init(argument:))
    var newName: ItemName

    func validate() throws {
        guard name.text != newName.text else { throw ValidationError("both names are the same") }
    }

    func run() throws {
        let secrets = StoredSecrets()
        try secrets.checkFree(newName)
        try secrets.rename(name, to: newName)
    }
}
