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
            The bytes are written as they were stored, with no newline added. A terminal is refused without --show. \
            With -c the secret goes to the clipboard in place of that.
            """
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var name: ItemName

    @Flag(help: "Show the secret on the terminal.")
    var show = false

    @Option(help: FieldName.help, transform: FieldName.init(argument:))
    var field: FieldName?

    @Option(
        help: ArgumentHelp(
            "Write an earlier value, by its number in touchstone history NAME.",
            valueName: "number"
        )
    )
    var former: Int?

    @OptionGroup var clipboard: ClipboardOptions

    func validate() throws {
        guard former ?? 1 > 0 else { throw ValidationError("--former takes a number from 1 on") }
    }

    func run() throws {
        let reference = SecretReference(name: name, field: field)
        guard let clipboard = try clipboard.clipboard() else {
            return try Self.write(reference, former: former, show: show)
        }
        let reason = "Copy '\(name.text)' to the clipboard."
        try clipboard.copy(reference.value(in: Self.read(name, former: former, reason: reason)))
    }

    /// Releases the secret, or an earlier value of it.
    private static func read(
        _ name: ItemName,
        former: Int?,
        reason: String
    ) throws(CommandError) -> SecretBytes {
        let context = RemoteKeychain.shared.makeContextNumber()
        let secrets = StoredSecrets()
        guard let former else { return try secrets.read(name, reason: reason, context: context) }
        return try secrets.read(
            secrets.keptValue(former, of: name, context: context),
            reason: reason,
            context: context
        )
    }

    /// The name, when the arguments are `get NAME` and nothing else.
    ///
    /// Programs call it this way often, and the parser takes longer than the look-up.
    static func plainName(in arguments: [String]) -> ItemName? {
        guard arguments.count == 3, arguments[1] == "get", !arguments[2].hasPrefix("-") else { return nil }
        return try? ItemName(argument: arguments[2])
    }

    /// Writes the secret to standard output.
    static func write(_ reference: SecretReference, former: Int? = nil, show: Bool) throws(CommandError) {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        // Before the user is prompted.
        guard show || !isTerminal else {
            throw CommandError(
                "standard output is a terminal; the secret would stay on the screen",
                hint: "pipe it, use touchstone run, copy it with -c, or say --show"
            )
        }
        let (name, reason) = (reference.name, "Read '\(reference.name.text)'.")
        let secret = try reference.value(in: read(name, former: former, reason: reason))
        try unsafe secret.withUnsafeBytes { octets throws(CommandError) in try unsafe Output.write(octets) }
        if isTerminal { Output.print("") }
    }
}
