import Foundation
import ScriptedDaemon

/// The parser's own list of all commands and options, which it writes for other tools.
struct CommandDump: Decodable {
    /// A command with its options and its subcommands.
    struct Command: Decodable {
        var commandName: String
        /// False for a command that only programs of ours call.
        var shouldDisplay: Bool
        var subcommands: [Command]?
        var arguments: [Argument]?

        /// The words of this command's subcommands and of theirs, after its own; not of `help`, nor of hidden ones.
        fileprivate func paths(after words: [String]) -> [[String]] {
            (subcommands ?? []).filter { $0.commandName != "help" && $0.shouldDisplay }.flatMap { next in
                let path = words + [next.commandName]
                return [path] + next.paths(after: path)
            }
        }
    }

    /// An argument, option or flag.
    struct Argument: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String
        }
        var kind: String
        var names: [Name]?
    }

    /// The program.
    var command: Command

    /// The words of each command and subcommand that the help shows.
    var paths: [[String]] { command.paths(after: []) }

    /// Asks the program.
    static func read(_ home: TemporaryHome) async throws -> CommandDump {
        let dump = try await CommandRun("--experimental-dump-help", home: home).run()
        return try JSONDecoder().decode(Self.self, from: Data(dump.output))
    }
}
