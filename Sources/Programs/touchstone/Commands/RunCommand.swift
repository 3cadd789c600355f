import ArgumentParser
import KeychainClient
import KeychainModel
import SecretMemory

/// `touchstone run`: run a command with secrets in its environment.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command with secrets in its environment.",
        discussion: """
            The secrets are released in one go: one finger is enough for all that a finger opens. This process \
            becomes the command, so that signals and the exit status are the command's own; 127 says that there is \
            no such command and 126 that it cannot be executed.

            A file of variables has lines NAME=value; a value can be, or hold in {{ }}, a reference touchstone://SECRET \
            or, for a field of it, touchstone://SECRET?field=NAME. With --mask this process stays and conceals the secrets in the command's output.

              touchstone run --env GITHUB_TOKEN=github -- gh release list
              touchstone run --env-file .env -- docker compose up
            """
    )

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("A variable and its secret.", valueName: "VAR=NAME"),
        transform: EnvironmentBinding.init(argument:)
    )
    var bindings: [EnvironmentBinding] = []

    @Option(
        name: .customLong("env-file"),
        help: ArgumentHelp("A file of variables and references, or - for standard input.", valueName: "file"),
        completion: .file()
    )
    var files: [String] = []

    @Flag(help: "Conceal the secrets in the command's output.")
    var mask = false

    @Argument(parsing: .postTerminator, help: "After --: the command and its arguments.")
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else { throw ValidationError("no command: it follows after --") }
        guard !bindings.isEmpty || !files.isEmpty else {
            throw ValidationError("no secret: --env VAR=NAME names one")
        }
        guard Set(bindings.map(\.variable)).count == bindings.count else {
            throw ValidationError("a variable can hold one secret only")
        }
    }

    func run() throws {
        guard let program = command.first else { throw ValidationError("no command") }
        var image = try ProcessImage(try Executable(program), argumentCount: command.count)
        let variables = try variables()
        let secrets = try ReleasedSecrets(variables.flatMap(\.value.secrets)) { names in
            "Run '\(program)' with \(names)."
        }
        for (variable, value) in variables { try image.setVariable(variable, to: value, secrets) }
        TerminalAgent.end()
        guard mask else { throw image.become() }
        try MaskedRun(image, masking: secrets).finish()
    }

    /// Later definitions win: a second file over the first, and --env over both.
    private func variables() throws(CommandError) -> [(variable: String, value: SecretTemplate)] {
        var all: [(variable: String, value: SecretTemplate)] = []
        for file in files { all += try EnvironmentFile.variables(file) }
        all += bindings.map { ($0.variable, SecretTemplate($0.secret)) }
        var seen: Set<String> = []
        return all.reversed().filter { seen.insert($0.variable).inserted }.reversed()
    }
}
