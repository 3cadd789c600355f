import ArgumentParser
import KeychainClient
import KeychainModel

/// `touchstone find`: find secrets by a part of their names, or by a field.
struct FindCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "List the secrets whose name, or a field of them, contains a text or matches a pattern.",
        discussion: """
            Upper and lower case count as the same. With `*`, `?` or `[…]` the text is a pattern for the whole name; \
            quote it, or the shell reads it first. Labels, descriptions and comments, where a secret has them, are \
            searched as well. No secret is released. The exit status is 3 when nothing matches.

            With --field the text is looked for in that field instead, of all secrets, or of those with --prefix. '*' \
            finds all that have it. Fields are inside the secrets, so what these require is asked for, once for all of them, and \
            only names are written. One that cannot be read is told, and the exit status says why.

              touchstone find --field user me@example.org
              touchstone find --field url --prefix web/ 'https://*.example.org*'
            """
    )

    @Argument(help: "A part of the name or the field's value, or a pattern for all of it.")
    var text: String

    @Option(
        help: ArgumentHelp("Search this field's value, which releases the secrets.", valueName: "name"),
        transform: FieldName.init(argument:)
    )
    var field: FieldName?

    @Option(
        help: "Only the names that begin with this, which ends with '/'.",
        transform: NamePrefix.init(argument:)
    )
    var prefix: NamePrefix?

    @Flag(help: "Write JSON.")
    var json = false

    func validate() throws {
        guard !text.isEmpty else { throw ValidationError("the text to look for is empty") }
        guard field?.folded != FieldName.password.folded else {
            throw ValidationError(
                "a password is never an argument: other programs see it, and the shell keeps it"
            )
        }
    }

    func run() throws {
        // One context, so that a passcode which unlocks the keychain counts for the secrets too.
        let context = RemoteKeychain.shared.makeContextNumber()
        let secrets = try StoredSecrets().all(context: context).filter { prefix?.begins($0.name) ?? true }
        if let prefix, secrets.isEmpty {
            write([])
            throw PrefixChange.nothing(under: prefix)
        }
        if let field {
            let search = try FieldSearch(field, FieldPattern(text), in: secrets, context: context)
            write(search.found)
            try search.tellUnread()
            guard !search.found.isEmpty else { throw nothing("field '\(field.text)'") }
            return
        }
        let pattern = NamePattern(text)
        let found = secrets.filter { $0.searchedTexts.contains(where: pattern.matches) }
        write(found)
        guard !found.isEmpty else { throw nothing("name") }
    }

    /// Writes what was found; nothing, except as JSON, if that is none.
    private func write(_ found: [StoredSecret]) {
        if json || !found.isEmpty { ListCommand.write(found, json: json) }
    }

    private func nothing(_ place: String) -> CommandError {
        CommandError("no secret's \(place) contains '\(text)'", hint: "touchstone list", exitCode: .notFound)
    }
}

extension StoredSecret {
    fileprivate var searchedTexts: [String] {
        let keys: [AttributeKey] = [.label, .itemDescription, .comment]
        return [name]
            + keys.compactMap { key in
                guard case .string(let text) = attributes[key] else { return nil }
                return text
            }
    }
}
