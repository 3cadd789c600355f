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

            Two names that end with '/' are prefixes: all secrets whose names begin with the first one are stored \
            again under the second one, up to 512. Names that are taken are refused before anything is released; what \
            the secrets require is asked for once, and if one cannot be stored, those before it are deleted again.

              touchstone copy web/ sites/
            """,
        aliases: ["cp"]
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var name: ItemName

    @Argument(help: "The second name.", transform: ItemName.init(argument:))
    var newName: ItemName

    @Flag(help: "Replace an existing secret of this name.")
    var replace = false

    func validate() throws { _ = try NamePrefix.pair(name, newName) }

    func run() throws {
        let secrets = StoredSecrets()
        if let (from, to) = try NamePrefix.pair(name, newName) {
            let count = try secrets.copy(from, to: to, replaces: replace)
            return Output.complain("Copied \(PrefixChange.count(count)).")
        }
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
