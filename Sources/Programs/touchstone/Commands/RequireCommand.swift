import ArgumentParser
import KeychainClient

/// `touchstone require`: change what reading secrets requires.
struct RequireCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "require",
        abstract: "Change what reading secrets requires, without typing them again.",
        usage: "touchstone require <name> ... finger | passcode | either | none",
        discussion: """
            What they require until now is asked for once for all of them. They are changed together or, when one of \
            them is not there or was lost, not at all; no secret leaves the keychain for it. With finger, a secret is \
            lost when the enrolled fingers change.

              touchstone require mail signing-key finger

            --when changes when they can be read; otherwise each stays as it is. A secret for a nightly program, which \
            a locked screen must not keep from it:

              touchstone require backup-key none --when first-unlock
            """
    )

    /// The most names: as many as can be deleted together.
    private static let mostNames = 512

    @Argument(
        help: ArgumentHelp(
            "The secrets' names and then what reading them requires: finger, passcode, either or none.",
            valueName: "name ... requirement"
        )
    )
    var words: [String]

    @Option(help: Readability.help)
    var when: Readability?

    private func parsed() throws(ValidationError) -> (names: [ItemName], requirement: Requirement) {
        guard let last = words.last, let requirement = Requirement(rawValue: last) else {
            throw ValidationError("the last word is what they require: finger, passcode, either or none")
        }
        guard words.count > 1 else { throw ValidationError("no secret is named before '\(last)'") }
        guard words.count <= Self.mostNames + 1 else {
            throw ValidationError("at most \(Self.mostNames) secrets are changed together")
        }
        let names = try words.dropLast().map { (word) throws(ValidationError) in try ItemName(argument: word)
        }
        return (names, requirement)
    }

    func validate() throws { _ = try parsed() }

    func run() throws {
        let (names, requirement) = try parsed()
        try StoredSecrets().require(requirement, when, of: names)
    }
}
