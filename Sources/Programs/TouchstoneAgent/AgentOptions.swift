import KeychainModel

/// The parsed command line.
enum AgentOptions: Equatable {
    /// Draws on the controlling terminal, or on the display.
    case serve(isOnTerminal: Bool)
    /// Prints this text on standard output and exits.
    case tell(String)

    private static let usage = "touchstone-agent [--graphical | --terminal]"
    private static let help = """
        Draws the prompts of Touchstone where its daemon runs under an account of its own.

        Started by the user's service manager for the desktop session, and by touchstone for its terminal.

        Usage: \(usage)

          --graphical    draw on the display of the desktop session (the default)
          --terminal     draw on the controlling terminal
          -V, --version  show the version
          -h, --help     show this

        """

    /// Parses the arguments after the program's name.
    init(_ arguments: some Collection<String>) throws(AgentFailure) {
        if let unknown = arguments.first(where: { Self(named: $0) == nil }) {
            throw Self.refused(
                "there is no option \(unknown.unicodeScalars.filter { $0.value > 0x1F && $0.value != 0x7F })"
            )
        }
        guard arguments.count <= 1 else { throw Self.refused("the options cannot be combined") }
        self = arguments.first.flatMap(Self.init(named:)) ?? .serve(isOnTerminal: false)
    }

    private static func refused(_ message: String) -> AgentFailure {
        AgentFailure(message: message, hint: usage, status: AgentFailure.usage)
    }

    private init?(named name: String) {
        switch name {
        case "--graphical": self = .serve(isOnTerminal: false)
        case "--terminal": self = .serve(isOnTerminal: true)
        case "--version", "-V": self = .tell(ProductVersion.text + "\n")
        case "--help", "-h": self = .tell(Self.help)
        default: return nil
        }
    }
}
