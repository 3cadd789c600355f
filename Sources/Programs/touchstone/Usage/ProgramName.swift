/// The names under which this one program is installed.
enum ProgramName {
    private static let commands = [
        "git-credential-touchstone": "git-credential", "docker-credential-touchstone": "docker-credential",
    ]

    /// The arguments, preceded by the command that the program's name stands for.
    static func arguments(of commandLine: [String]) -> [String] {
        let arguments = Array(commandLine.dropFirst())
        guard let name = commandLine.first?.split(separator: "/").last, let command = commands[String(name)]
        else {
            return arguments
        }
        return [command] + arguments
    }
}
