import ArgumentParser
import KeychainModel

/// A change of all secrets under a prefix, checked as a whole before anything is changed.
struct PrefixChange {
    /// The most secrets: as many as can be deleted together.
    private static let mostSecrets = 512
    /// The most names in an error.
    private static let mostNamed = 8

    /// What happens to one secret.
    struct Step {
        let name: ItemName
        let newName: ItemName
        let reference: PersistentReference
        let rule: AccessControl
        /// Whether there was a secret of the new name before.
        let isTaken: Bool
    }

    /// How to speak of it: `rename` or `copy`.
    enum Verb: String {
        case rename, copy

        var past: String { self == .rename ? "renamed" : "copied" }
        var progress: String { self == .rename ? "Renaming" : "Copying" }
    }

    let verb: Verb
    let from: NamePrefix
    let to: NamePrefix
    let steps: [Step]

    /// What a prompt says.
    var reason: String {
        "\(verb == .rename ? "Rename" : "Copy") \(Self.count(steps.count)) from '\(from.text)' to '\(to.text)'."
    }

    /// Checks the change against all secrets.
    ///
    /// - Parameters:
    ///   - verb: how to speak of it.
    ///   - from: the prefix that the names have.
    ///   - to: the prefix that the new names have.
    ///   - secrets: all secrets, whatever their names.
    ///   - replaces: whether taken names are no conflict.
    /// - Throws: ``CommandError``, with all conflicts by name.
    init(
        _ verb: Verb,
        _ from: NamePrefix,
        _ to: NamePrefix,
        among secrets: [StoredSecret],
        replaces: Bool = false
    ) throws(CommandError) {
        (self.verb, self.from, self.to) = (verb, from, to)
        let moved = secrets.filter { from.begins($0.name) }
        guard !moved.isEmpty else { throw Self.nothing(under: from) }
        guard moved.count <= Self.mostSecrets else {
            throw CommandError(
                "\(moved.count) names begin with '\(from.text)', and at most \(Self.mostSecrets) secrets are \(verb.past) together",
                hint: "do it for longer prefixes: touchstone list --tree \(ShellWord.argument(from.text))"
            )
        }
        let taken = Set(secrets.map { Array($0.name.utf8) })
        var steps: [Step] = []
        for secret in moved {
            let name = try Self.checked(secret.name, verb)
            guard secret.invalidated == nil, let reference = secret.reference else {
                let lost = ErrorText.describe(KeychainError(.itemNotFound, cause: .invalidated), name: name)
                throw CommandError(
                    "\(lost.message); nothing was \(verb.past)",
                    hint:
                        "touchstone delete \(ShellWord.argument(name.text)); or store it again: touchstone set --replace",
                    exitCode: lost.exitCode
                )
            }
            let newName = try Self.checked(from.replaced(in: secret.name, by: to), verb)
            steps.append(
                Step(
                    name: name,
                    newName: newName,
                    reference: reference,
                    rule: secret.accessControl,
                    isTaken: taken.contains(Array(newName.text.utf8))
                )
            )
        }
        self.steps = steps
        let conflicts = steps.filter(\.isTaken).map(\.newName)
        guard conflicts.isEmpty || replaces else {
            let error = conflict(conflicts)
            throw ended(error, "nothing was \(verb.past)", hint: error.hint)
        }
    }

    /// The error for new names that are taken.
    func conflict(_ names: [ItemName]) -> CommandError {
        let list = names.prefix(Self.mostNamed).map { "'\($0.text)'" }.joined(separator: ", ")
        let more = names.count > Self.mostNamed ? " and \(names.count - Self.mostNamed) more" : ""
        let ways = verb == .copy ? ", use --replace to replace them," : ""
        return CommandError(
            "there \(names.count == 1 ? "is a secret" : "are secrets") named \(list)\(more) already",
            hint: "choose another prefix\(ways) or delete what is there: touchstone delete",
            exitCode: .existsAlready
        )
    }

    /// The error for a change that ended early, with what is left of it after it was taken back.
    ///
    /// - Parameters:
    ///   - error: why it ended.
    ///   - tried: the steps that may have been done before.
    ///   - names: all secrets now; nil if they could not be listed.
    /// - Returns: the error that says so.
    func failure(_ error: CommandError, tried: [Step], names: [StoredSecret]?) -> CommandError {
        let rest = "do the rest with the same command" + (verb == .copy ? " and --replace" : "")
        guard let names = names.map({ Set($0.map { Array($0.name.utf8) }) }) else {
            guard !tried.isEmpty else { return ended(error, "nothing was \(verb.past)", hint: error.hint) }
            return ended(error, "some secrets may be \(verb.past)", hint: "touchstone list --tree; \(rest)")
        }
        // What was replaced cannot be taken back.
        let left = tried.filter { $0.isTaken || names.contains(Array($0.newName.text.utf8)) }.count
        guard left > 0 else { return ended(error, "nothing was \(verb.past)", hint: error.hint) }
        return ended(error, "\(left) of \(Self.count(steps.count)) are \(verb.past)", hint: rest)
    }

    private func ended(_ error: CommandError, _ outcome: String, hint: String?) -> CommandError {
        CommandError("\(error.message); \(outcome)", hint: hint, exitCode: error.exitCode)
    }

    /// The error for a prefix that no name begins with.
    static func nothing(under prefix: NamePrefix) -> CommandError {
        CommandError(
            "no secret's name begins with '\(prefix.text)'",
            hint: "touchstone list --tree",
            exitCode: .notFound
        )
    }

    /// `1 secret`, `2 secrets`.
    static func count(_ count: Int) -> String { count == 1 ? "1 secret" : "\(count) secrets" }

    private static func checked(_ name: String, _ verb: Verb) throws(CommandError) -> ItemName {
        do throws(ValidationError) {
            return try ItemName(argument: name)
        } catch {
            throw CommandError(
                "'\(name)' cannot be a name: \(error.message); nothing was \(verb.past)",
                hint: "choose a shorter prefix, or rename that secret first"
            )
        }
    }
}
