import ArgumentParser
import KeychainModel
import SecretServiceModel

/// `touchstone protect`: a secret of another program behind a gesture.
struct ProtectSecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "protect",
        abstract: "Put secrets of other programs behind a finger or the passcode.",
        discussion: """
            Their keys are wrapped anew: without the gesture nobody can read them, whatever program asks. A box says which \
            program wants which secret, and a gesture counts for that program and that secret, for 10 seconds and 3 reads.

              touchstone protect 4a73cb10
              touchstone protect --schema org.gnome.keyring.NetworkPassword --match server=bank.example

            With attributes there is a rule, also for secrets that are stored later. Some programs give up at once instead \
            of waiting for a person; touchstone unprotect ends it.
            """
    )

    @OptionGroup
    var selection: SecretSelection

    @Option(help: "What reading them requires: presence (or either), finger or passcode.")
    var require = Requirement.either

    @Flag(
        help:
            "Also the keys by which browsers encrypt their own files: one that does not get its key makes a new one."
    )
    var force = false

    func validate() throws {
        guard require != .nothing else {
            throw ValidationError("touchstone unprotect takes the requirement away")
        }
    }

    func run() throws {
        let secrets = ServiceSecrets()
        let pairs = selection.attributes
        let found = try selection.items(of: secrets)
        let isRefused = { (item: SecretItem) in !force && ProtectionRule.isProgramKey(item.content.attributes)
        }
        if pairs.isEmpty, let item = found.first(where: isRefused) {
            throw CommandError(
                "'\(Printable.text(item.content.label))' is the key by which a program encrypts its own files; "
                    + "if it does not get it, what it stored is lost",
                hint: "with --force it is protected all the same"
            )
        }
        let count = try secrets.require(require, of: found.filter { !isRefused($0) })
        if !pairs.isEmpty { try secrets.setRule(require, for: pairs) }
        let names = count == 1 ? "1 secret requires" : "\(count) secrets require"
        Output.complain(
            "\(names) \(require.rawValue) now." + (pairs.isEmpty ? "" : " So will those that come.")
        )
    }
}

/// `touchstone unprotect`: without a gesture again.
struct UnprotectSecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unprotect",
        abstract: "Let programs read secrets without a gesture again; asks for what they require until now.",
        discussion: """
              touchstone unprotect 4a73cb10
              touchstone unprotect --schema org.gnome.keyring.NetworkPassword --match server=bank.example
            """
    )

    @OptionGroup
    var selection: SecretSelection

    func run() throws {
        let secrets = ServiceSecrets()
        let pairs = selection.attributes
        let found = try selection.items(of: secrets)
        let count = try secrets.require(.nothing, of: found)
        let hadRule = pairs.isEmpty ? false : try secrets.endRule(for: pairs)
        Output.complain(
            (count == 1 ? "1 secret requires" : "\(count) secrets require") + " nothing now."
                + (hadRule ? " The rule is gone." : "")
        )
    }
}

/// Secrets of other programs on the command line: by their names, or by attributes.
struct SecretSelection: ParsableArguments {
    @Argument(help: "Names from touchstone secrets list, or how they begin.")
    var names: [String] = []

    @Option(help: "The schema of the secrets: the attribute xdg:schema.")
    var schema: String?

    @Option(help: AttributePair.help)
    var match: [AttributePair] = []

    func validate() throws {
        guard !names.isEmpty || schema != nil || !match.isEmpty else {
            throw ValidationError("missing: which secrets, by name, --schema or --match")
        }
        guard names.isEmpty || schema == nil && match.isEmpty else {
            throw ValidationError("say names, or attributes with --schema and --match")
        }
    }

    /// The attributes; none if the secrets are named.
    var attributes: [String: String] { AttributePair.dictionary(match, schema: schema) }

    /// The secrets that are meant.
    func items(of secrets: ServiceSecrets) throws(CommandError) -> [SecretItem] {
        attributes.isEmpty ? try secrets.items(named: names) : try secrets.items(having: attributes)
    }
}
