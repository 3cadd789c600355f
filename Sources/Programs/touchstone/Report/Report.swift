import ArgumentParser
import Glibc
import KeychainModel

/// Ends the program with its error report.
enum Report {
    /// Prints the `error:` and `hint:` lines and exits with the matching status.
    static func end(_ error: any Error) -> Never {
        switch error {
        case let error as CommandError: end(error)
        case let error as KeychainError: end(ErrorText.describe(error))
        default: endParsing(error)
        }
    }

    private static func end(_ error: CommandError) -> Never {
        Output.complain("error: \(Printable.text(error.message))")
        // A hint about the command's syntax may name the same command; others must suggest another one.
        let hint = error.exitCode == .validationFailure ? error.hint : Hint.elsewhere(error.hint)
        if let hint { Output.complain("hint: \(Printable.text(hint))") }
        exit(error.exitCode.rawValue)
    }

    /// Handles help, completion scripts and the version too, which ArgumentParser also throws as errors.
    private static func endParsing(_ error: any Error) -> Never {
        let code = Touchstone.exitCode(for: error)
        if code == .success {
            Output.print(Touchstone.fullMessage(for: error))
            exit(EXIT_SUCCESS)
        }
        let text = Touchstone.message(for: error)
        guard !text.isEmpty else { exit(code.rawValue) }
        let usage = Touchstone.fullMessage(for: error).split(separator: "\n").first {
            $0.hasPrefix("Usage: ")
        }
        let hint = usage.map { line in
            let synopsis = String(line.dropFirst("Usage: ".count))
            let ending = "<subcommand>"
            return synopsis.hasSuffix(ending) ? synopsis.dropLast(ending.count) + "--help" : synopsis
        }
        end(CommandError(lowercasingFirst(text), hint: hint, exitCode: code))
    }

    private static let longestLine = 300

    private static func lowercasingFirst(_ text: String) -> String {
        // On one line, however the library breaks it.
        var line = text.split(separator: "\n", omittingEmptySubsequences: true).joined(separator: " ")
        // It contains the user's input, which can be of any length.
        if line.count > longestLine {
            line = line.prefix(longestLine / 2) + "…" + line.suffix(longestLine / 2)
        }
        return line.prefix(1).lowercased() + line.dropFirst()
    }
}
