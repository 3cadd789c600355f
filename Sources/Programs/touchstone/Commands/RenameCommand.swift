import ArgumentParser

/// `touchstone rename`: give a secret another name.
struct RenameCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Give a secret another name, or all secrets under a prefix.",
        discussion: """
            Secret, requirement and dates stay, and there is no moment without the secret. Whatever it requires is \
            asked for once, as for every change. A name that is taken is refused.

            Two names that end with '/' are prefixes: all secrets whose names begin with the first one get the second \
            one instead, up to 512. A name that is taken or a secret that is lost is refused before anything is \
            changed; what they require is asked for once, and if one cannot be renamed, those before it get their \
            names back.

              touchstone rename web/ sites/
            """,
        aliases: ["mv"]
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var name: ItemName

    @Argument(help: "Its new name.", transform: ItemName.init(argument:))
    var newName: ItemName

    func validate() throws { _ = try NamePrefix.pair(name, newName) }

    func run() throws {
        let secrets = StoredSecrets()
        if let (from, to) = try NamePrefix.pair(name, newName) {
            let count = try secrets.rename(from, to: to)
            return Output.complain("Renamed \(PrefixChange.count(count)).")
        }
        try secrets.checkFree(newName)
        try secrets.rename(name, to: newName)
    }
}
