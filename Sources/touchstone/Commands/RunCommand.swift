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

              touchstone run --env GITHUB_TOKEN=github -- gh release list
            """
    )

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("A variable and its secret.", valueName: "VAR=NAME"),
        transform: EnvironmentBinding.init(argument:)
    )
    var bindings: [EnvironmentBinding] = []

    @Argument(parsing: .postTerminator, help: "After --: the command and its arguments.")
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else { throw ValidationError("no command: it follows after --") }
        guard !bindings.isEmpty else { throw ValidationError("no secret: --env VAR=NAME names one") }
        guard Set(bindings.map(\.variable)).count == bindings.count else {
            throw ValidationError("a variable can hold one secret only")
        }
    }

    func run() throws {
        guard let program = command.first else { throw ValidationError("no command") }
        var image = ProcessImage(try Executable(program), argumentCount: command.count)
        let context = RemoteKeychain.shared.makeContextNumber()
        let secrets = StoredSecrets()
        for binding in try inOrderOfDemand(secrets) {
            let reason =
                "Run '\(program)' with \(bindings.map { "'\($0.name.text)'" }.joined(separator: ", "))."
            try image.setVariable(binding, to: secrets.read(binding.name, reason: reason, context: context))
        }
        throw image.become()
    }

    /// The strictest first, so that what is shown for it is good for the others too.
    ///
    /// What is missing is found before anybody is asked.
    private func inOrderOfDemand(_ secrets: StoredSecrets) throws(CommandError) -> [EnvironmentBinding] {
        var ranked: [(rank: Int, binding: EnvironmentBinding)] = []
        for binding in bindings {
            let rule = try secrets.find(binding.name).accessControl
            let rank =
                switch Requirement(rule) {
                case nil: 0
                case .finger: 1
                case .passcode: 2
                case .either: 3
                case .nothing: 4
                }
            ranked.append((rank, binding))
        }
        return ranked.sorted { $0.rank < $1.rank }.map(\.binding)
    }
}
