/// The remedy in a command's error: it never suggests that same command.
enum Hint {
    /// The running command, as typed; nil before one was found.
    static var runningCommand: String? { CommandLine.arguments.dropFirst().first { !$0.hasPrefix("-") } }

    /// The word after it: its subcommand.
    private static var runningStep: String? {
        CommandLine.arguments.dropFirst().filter { !$0.hasPrefix("-") }.dropFirst().first
    }

    /// The commands whose hints suggest others of their subcommands.
    private static let commandsWithSteps: Set<String> = ["key", "secrets", "system", "theft-protection"]

    /// The clauses of a hint that suggest another command; nil when none is left.
    ///
    /// The same command with an option counts as another one: `touchstone migrate --export`.
    static func elsewhere(_ hint: String?, from command: String? = runningCommand) -> String? {
        guard let hint, let command else { return hint }
        let clauses = hint.split(separator: "; ").filter { !leads($0, to: command) }
        return clauses.isEmpty ? nil : clauses.joined(separator: "; ")
    }

    private static func leads(_ clause: Substring, to command: String) -> Bool {
        let words = clause.split(separator: " ").map { $0.trimmed(of: ",.?:") }
        for (index, word) in words.enumerated() where word == "touchstone" {
            guard index + 1 < words.count, words[index + 1] == command else { continue }
            let rest = words[(index + 2)...]
            // As root it counts as another command, and so does another subcommand: from `system enable` to `system
            // disable`.
            if index > 0, words[index - 1] == "sudo" { continue }
            let hasSteps = commandsWithSteps.contains(command)
            if hasSteps, rest.first ?? "" != runningStep ?? "" { continue }
            let option = (hasSteps ? rest.dropFirst() : rest).first ?? ""
            if !option.hasPrefix("--") { return true }
        }
        return false
    }
}

extension Substring {
    fileprivate func trimmed(of characters: String) -> Substring {
        var text = self
        while let last = text.last, characters.contains(last) { text.removeLast() }
        return text
    }
}
