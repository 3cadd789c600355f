import ArgumentParser

/// The options of a command, as its help lists them.
struct CommandOptions {
    /// One line of the help.
    struct Option {
        /// Its spellings, such as `-c` and `--clip`.
        let names: [String]
        let takesValue: Bool
        let help: String
    }

    let all: [Option]

    /// Reads the options of a command in its help; the library lists them nowhere else.
    init(of command: any ParsableCommand.Type) {
        let help = Touchstone.helpMessage(for: command, columns: 10_000)
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(of: "OPTIONS:") else {
            all = []
            return
        }
        var options: [Option] = []
        for line in lines[(start + 1)...].prefix(while: { !$0.isEmpty }) {
            if line.hasPrefix("  -") {
                options.append(Option(line.split(separator: " ")))
            } else if let last = options.popLast() {
                // The help of a long option is in the next line.
                let text = line.drop { $0 == " " }
                options.append(Option(names: last.names, takesValue: last.takesValue, help: String(text)))
            }
        }
        all = options
    }

    /// The option with a spelling.
    func named(_ name: String) -> Option? { all.first { $0.names.contains(name) } }
}

extension CommandOptions.Option {
    /// Reads the words of a line.
    ///
    /// For example `-c, --clear <seconds> Clears it after a while.`
    fileprivate init(_ words: [Substring]) {
        let label = words.prefix { $0.hasPrefix("-") || $0.hasPrefix("<") }
        names = label.filter { $0.hasPrefix("-") }.map {
            $0.hasSuffix(",") ? String($0.dropLast()) : String($0)
        }
        takesValue = label.contains { $0.hasPrefix("<") }
        help = words.dropFirst(label.count).joined(separator: " ")
    }
}
