import ArgumentParser
import Glibc

/// The answers to the shells' completion scripts (``CompletionScript``).
///
/// Names of secrets come from others: git's helper takes them from URLs. No script evaluates an answer, and what is put
/// into the line is quoted, by bash's here and by the other shells themselves.
enum Completion {
    /// The first argument of a call by a script; then the shell, then what it knows.
    private static let argument = "---complete"
    private static let generation = "--generate-completion-script"

    /// Answers and exits, if the arguments say so.
    static func runIfAsked(_ arguments: [String]) {
        let arguments = arguments.dropFirst()
        switch arguments.first {
        case argument?: answer(Array(arguments.dropFirst()))
        case generation?: write(scriptFor: arguments.dropFirst().first)
        case let first? where first.hasPrefix(generation + "="):
            write(scriptFor: String(first.dropFirst(generation.count + 1)))
        default: return
        }
        exit(EXIT_SUCCESS)
    }

    private static func write(scriptFor shell: String?) {
        let shell = shell ?? Environment.value("SHELL").map { String($0.split(separator: "/").last ?? "") }
        guard let script = shell.flatMap(CompletionScript.init(rawValue:)) else {
            Report.end(
                CommandError(
                    "there is no completion for the shell '\(shell ?? "")'",
                    hint: "touchstone --generate-completion-script bash, zsh or fish",
                    exitCode: .validationFailure
                )
            )
        }
        Output.print(script.text)
    }

    /// Writes a line with the kind of completion, then one line for each candidate.
    private static func answer(_ arguments: [String]) {
        guard let shell = arguments.first.flatMap(CompletionScript.init(rawValue:)) else { return }
        switch shell {
        case .bash:
            guard arguments.count == 3 else { return }
            let line = ShellLine(arguments[1], breaks: arguments[2])
            guard line.isArgument else { return Output.print("file") }
            let word = CompletedWord(after: Array(line.words.dropFirst()), last: line.last)
            write(word, kind: "") { line.replacement(word.lead + $0.text) }
        case .zsh, .fish:
            guard let last = arguments.last, arguments.count > 1 else { return }
            let word = CompletedWord(after: Array(arguments[1..<(arguments.count - 1)]), last: last)
            // zsh replaces what follows the start of the word, fish the whole.
            let lead = shell == .fish ? word.lead : ""
            write(word, kind: "\t" + word.lead) { candidate in
                lead + candidate.text + (candidate.help.isEmpty ? "" : "\t" + candidate.help)
            }
        }
    }

    private static func write(
        _ word: CompletedWord,
        kind suffix: String,
        _ line: (CompletedWord.Candidate) -> String?
    ) {
        switch word.kind {
        case .words(let candidates):
            Output.print((["words" + suffix] + candidates.compactMap(line)).joined(separator: "\n"))
        case .file: Output.print("file" + suffix)
        case .command: Output.print("command" + suffix)
        }
    }
}
