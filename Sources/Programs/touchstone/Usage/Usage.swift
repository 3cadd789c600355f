import ArgumentParser

/// Command lines that the parser accepts or explains badly, and that no user meant.
enum Usage {
    /// Options with one value; of several, the parser would take the last.
    private static let single: Set = [
        "--require", "--from-file", "--nonce", "--export", "--import", "--clear-after", "--length",
        "--characters",
        "--words", "--separator", "--lines",
    ]
    private static let short: Set = ["-h", "-y", "-c", "-i", "-o", "-V", "-f"]

    /// Refuses an unknown command, an option given twice, and combined short options.
    ///
    /// The parser reads `-dash` as several short options, `-h` among them, and `get -dash` would print help, with
    /// status 0, where a secret is expected.
    static func check(_ arguments: [String]) throws(CommandError) {
        guard let first = arguments.first else { return }
        if let command = first == "help" ? arguments.dropFirst().first : first { try checkCommand(command) }
        var seen: Set<String> = []
        for argument in arguments.prefix(while: { $0 != "--" }) {
            if argument.hasPrefix("--") {
                let option = String(argument.prefix { $0 != "=" })
                guard !single.contains(option) || seen.insert(option).inserted else {
                    throw refusal("\(option) is given more than once", hint: "give it once")
                }
            } else if argument.hasPrefix("-"), argument != "-", !short.contains(argument) {
                throw refusal(
                    "unknown option '\(argument)'",
                    hint: "put arguments that begin with '-' after --"
                )
            }
        }
    }

    private static func checkCommand(_ typed: String) throws(CommandError) {
        let groups = Touchstone.configuration.groupedSubcommands
        let commands = groups.flatMap(\.subcommands).flatMap { command in
            [command.configuration.commandName].compactMap { $0 } + command.configuration.aliases
        }
        guard !typed.hasPrefix("-"), typed != "help", !commands.contains(typed) else { return }
        let meant = Likeness.nearest(to: typed, among: commands)
        throw refusal(
            "there is no command '\(typed)'",
            hint: meant.map { "did you mean touchstone \($0)?" } ?? "touchstone --help names all commands"
        )
    }

    private static func refusal(_ message: String, hint: String) -> CommandError {
        CommandError(message, hint: hint, exitCode: .validationFailure)
    }
}
