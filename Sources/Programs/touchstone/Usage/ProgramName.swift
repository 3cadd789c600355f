/// The names under which this one program is installed.
enum ProgramName {
    /// The words that each name stands for; what follows `--` is never an option of ours.
    private static let words = [
        "git-credential-touchstone": ["git-credential"],
        "docker-credential-touchstone": ["docker-credential"],
        "touchstone-git-sign": ["git-sign", "--"],
        "touchstone-askpass": ["askpass", "--"],
        "pinentry-touchstone": ["pinentry", "--"],
    ]

    /// The arguments, preceded by the words that the program's name stands for.
    static func arguments(of commandLine: [String]) -> [String] {
        let name = commandLine.first?.split(separator: "/").last.map(String.init)
        return (name.flatMap { words[$0] } ?? []) + commandLine.dropFirst()
    }
}
