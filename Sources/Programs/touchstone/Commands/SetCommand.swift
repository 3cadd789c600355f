import ArgumentParser
import Glibc
import KeychainModel
import SecretMemory

/// `touchstone set`: store a secret.
struct SetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Store a secret.",
        discussion: """
            The secret is read from standard input, or typed or pasted twice on the terminal. Exactly one newline at \
            its end is left out, unless --exact is given.

              pwgen 32 1 | touchstone set mail
              touchstone set signing-key --from-file key.pem --exact --require finger
            """,
        aliases: ["add"]
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var name: ItemName

    @Option(help: "What reading it requires: finger, passcode, either or none.")
    var require = Requirement.either

    @Option(help: "Read the secret from a file.", completion: .file())
    var fromFile: String?

    @Flag(help: "Keep a newline at the end.")
    var exact = false

    @Flag(help: "Replace an existing secret of this name.")
    var replace = false

    func run() throws {
        let rule = try require.accessControl()
        let secrets = StoredSecrets()
        if replace {
            try secrets.replace(name, readSecret(), rule)
        } else {
            try secrets.add(name, readSecret(), rule)
        }
    }

    private func readSecret() throws(CommandError) -> SecretBytes {
        if let fromFile { return try SecretInput.file(fromFile, isExact: exact) }
        guard isatty(STDIN_FILENO) == 1 else { return try SecretInput.standardInput(isExact: exact) }
        guard let terminal = Terminal() else {
            throw CommandError(
                "there is no terminal to type the secret on",
                hint: "pipe it in, or name a file: --from-file FILE",
                exitCode: .notInteractive
            )
        }
        return try SecretInput.terminal(terminal, name: name, isExact: exact)
    }
}
