import ArgumentParser
import Glibc
import SecretMemory

/// `touchstone generate`: store a new random secret.
struct GenerateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Generate a random secret and store it.",
        discussion: """
            24 characters of letters, digits and symbols, unless something else is said: at least one of each kind, and \
            otherwise every text as likely as every other. Kinds are \(CharacterSet.names). Words come from the large \
            list of the Electronic Frontier Foundation (7776 words).

              touchstone generate mail -c
              touchstone generate disk --words 7
              touchstone generate door --characters digits --length 6
            """
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var name: ItemName

    @Option(help: "The number of characters, 1 to 1024.")
    var length: Int?

    @Option(
        help: ArgumentHelp("Kinds of characters, separated by commas.", valueName: "kinds"),
        transform: CharacterSet.init(argument:)
    )
    var characters: CharacterSet?

    @Option(help: ArgumentHelp("Use this many words instead of characters, 1 to 64.", valueName: "number"))
    var words: Int?

    @Option(help: "The separator between words.")
    var separator: String?

    @Option(help: "What reading it requires: finger, passcode, either or none.")
    var require = Requirement.either

    @Option(help: Readability.help)
    var when = Readability.unlocked

    @Flag(help: "Replace an existing secret of this name.")
    var replace = false

    @Flag(help: "Write it to standard output too, also to a terminal.")
    var show = false

    @OptionGroup var fields: FieldOptions

    @OptionGroup var clipboard: ClipboardOptions

    func validate() throws { _ = try generated() }

    func run() throws {
        let rule = try require.accessControl(when.accessibility)
        let generated = try generated()
        let clipboard = try clipboard.clipboard()
        let secret = try generated.draw()
        let secrets = StoredSecrets()
        if replace {
            try secrets.replace(name, fields.added(to: CommandMemory.copy(of: secret)), rule)
        } else {
            try secrets.add(name, fields.added(to: CommandMemory.copy(of: secret)), rule)
        }
        Output.complain(
            "Stored '\(Printable.text(name.text))': \(generated.sentence), \(generated.bits) bits."
        )
        try clipboard?.copy(secret)
        guard show else { return }
        try unsafe secret.withUnsafeBytes { octets throws(CommandError) in try unsafe Output.write(octets) }
        if isatty(STDOUT_FILENO) == 1 { Output.print("") }
    }

    private func generated() throws(ValidationError) -> GeneratedSecret {
        if let words {
            guard length == nil, characters == nil else {
                throw ValidationError("--words goes with neither --length nor --characters")
            }
            guard (1...64).contains(words) else { throw ValidationError("--words takes 1 to 64") }
            return .words(count: words, separator: separator ?? "-")
        }
        guard separator == nil else { throw ValidationError("--separator goes with --words") }
        let set = characters ?? .standard
        let count = length ?? 24
        guard (set.kinds.count...1024).contains(count) else {
            throw ValidationError("--length takes \(set.kinds.count) to 1024: one of each kind at least")
        }
        return .characters(set, count: count)
    }
}
