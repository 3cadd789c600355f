import ArgumentParser
import Glibc
import KeychainClient
import SecretMemory

/// `touchstone get`: write a secret to standard output.
struct GetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Write a secret to standard output.",
        discussion: """
            The octets are written as they were stored, with no newline added. A terminal is refused without --show.
            """
    )

    @Argument(help: ItemName.help, completion: ItemName.completion)
    var name: ItemName

    @Flag(help: "Show the secret on the terminal.")
    var show = false

    func run() throws {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        // Before anybody is asked to touch anything.
        guard show || !isTerminal else {
            throw CommandError(
                "standard output is a terminal; the secret would stay on the screen",
                hint: "pipe it, use touchstone run, or say --show"
            )
        }
        let context = RemoteKeychain.shared.makeContextNumber()
        let secret = try StoredSecrets().read(name, reason: "Read '\(name.text)'.", context: context)
        try unsafe secret.withUnsafeBytes { octets throws(CommandError) in try unsafe Output.write(octets) }
        if isTerminal { Output.print("") }
    }
}
