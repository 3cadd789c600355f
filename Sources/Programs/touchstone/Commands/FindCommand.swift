import ArgumentParser
import KeychainModel

/// `touchstone find`: find secrets by a part of their names, without releasing them.
struct FindCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "List the secrets whose name contains a text or matches a pattern.",
        discussion: """
            Upper and lower case count as the same. With `*`, `?` or `[…]` the text is a pattern for the whole name; \
            quote it, or the shell reads it first. Labels, descriptions and comments, where a secret has them, are \
            searched as well. No secret is released. The exit status is 3 when nothing matches.
            """
    )

    @Argument(help: "A part of the name, or a pattern for all of it.")
    var text: String

    @Flag(help: "Write JSON.")
    var json = false

    func validate() throws {
        guard !text.isEmpty else { throw ValidationError("the text to look for is empty") }
    }

    func run() throws {
        let pattern = NamePattern(text)
        let found = try StoredSecrets().all().filter { secret in
            secret.searchedTexts.contains(where: pattern.matches)
        }
        if json || !found.isEmpty { ListCommand.write(found, json: json) }
        guard !found.isEmpty else {
            throw CommandError(
                "no secret's name contains '\(text)'",
                hint: "touchstone list",
                exitCode: .notFound
            )
        }
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
