import ArgumentParser
import KeychainClient

/// `touchstone copy`: store a secret under a second name.
struct CopyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Store a secret under a second name, with the same requirement.",
        discussion: """
            The secret is released for it, so whatever it requires is asked for once. A name that is taken is refused, \
            unless --replace is given.
            """,
        aliases: ["cp"]
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var name: ItemName

    @Argument(help: "The second name.", transform: ItemName.init(argument:))
    var newName: ItemName

    @Flag(help: "Replace an existing secret of this name.")
    var replace = false

    func validate() throws {
        guard name.text != newName.text else { throw ValidationError("both names are the same") }
    }

    func run() throws {
        let secrets = StoredSecrets()
        let rule = try secrets.find(name).accessControl
        // Before the user is prompted.
        if !replace { try secrets.checkFree(newName) }
        let secret = try secrets.read(
            name,
            reason: "Copy '\(name.text)' to '\(newName.text)'.",
            context: RemoteKeychain.shared.makeContextNumber()
        )
        if replace {
            try secrets.replace(newName, secret, rule)
        } else {
            try secrets.add(newName, secret, rule)
        }
    }
}
