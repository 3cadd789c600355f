import ArgumentParser
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory

/// `touchstone set`: store a secret.
struct SetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Store a secret.",
        discussion: """
            The secret is read from standard input, or typed or pasted twice on the terminal. Exactly one newline at \
            its end is left out, unless --exact is given. What can be refused is refused before it is typed.

              pwgen 32 1 | touchstone set mail
              touchstone set signing-key --from-file key.pem --exact --require finger
              touchstone set mail --user me@example.org --url https://mail.example.org

            Lines 'NAME: value' below the first line of a secret are its fields. --field stores one in a secret that is \
            there, and leaves the rest as it is.
            """,
        aliases: ["add"]
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var name: ItemName

    /// What is no secret, but was meant as one.
    @Argument(help: .hidden)
    var excess: [String] = []

    @Option(help: "What reading it requires: finger, passcode, either or none.")
    var require = Requirement.either

    @Option(help: Readability.help)
    var when = Readability.unlocked

    @Option(help: "Read the secret from a file.", completion: .file())
    var fromFile: String?

    @Flag(help: "Keep a newline at the end.")
    var exact = false

    @Flag(help: "Replace an existing secret of this name.")
    var replace = false

    @OptionGroup var fields: FieldOptions

    @Option(help: FieldName.help, transform: FieldName.init(argument:))
    var field: FieldName?

    func validate() throws {
        guard field == nil || !replace && !exact && fields.isEmpty else {
            throw ValidationError("--field goes without --replace, --exact, --user and --url")
        }
        guard !exact || fields.isEmpty else { throw ValidationError("--exact goes without --user and --url") }
    }

    func run() throws {
        guard excess.isEmpty else { throw isArgument }
        if let field { return try change(field) }
        let rule = try require.accessControl(when.accessibility)
        let secrets = StoredSecrets()
        if fromFile == nil, isatty(STDIN_FILENO) == 1 {
            try secrets.checkStorable(name, rule, isReplacing: replace)
        }
        if replace {
            try secrets.replace(name, fields.added(to: readSecret()), rule)
        } else {
            try secrets.add(name, fields.added(to: readSecret()), rule)
        }
    }

    private func change(_ field: FieldName) throws(CommandError) {
        let secrets = StoredSecrets()
        let context = RemoteKeychain.shared.makeContextNumber()
        // Before anything is typed.
        try secrets.find(name, context: context).checkHasFields()
        let value = try readSecret()
        let reason = "Change '\(field.text)' of '\(name.text)'."
        let secret = try secrets.read(name, reason: reason, context: context)
        try secrets.replaceValue(name, SecretFields.setting(field, to: value, in: secret), context: context)
    }

    private var isArgument: CommandError {
        CommandError(
            "a secret is never an argument, where all users of the machine can read it",
            hint: "pipe it in, or type it when asked by: touchstone set \(ShellWord.argument(name.text)); "
                + "the shell's history may hold what was given",
            exitCode: .validationFailure
        )
    }

    private func readSecret() throws(CommandError) -> SecretBytes {
        try SecretInput.read(fromFile, isExact: exact, noun: "secret", ways: "--from-file FILE") {
            terminal throws(CommandError) in
            let subject = field.map { "'\($0.text)' of '\(name.text)'" } ?? "Secret for '\(name.text)'"
            return try SecretInput.terminal(terminal, for: subject, isExact: exact)
        }
    }
}
