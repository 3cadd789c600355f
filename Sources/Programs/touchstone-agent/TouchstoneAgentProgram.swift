import TouchstoneAgent

/// Draws the boxes of a daemon that runs under an account of its own, in the session of the user.
@main
enum TouchstoneAgentProgram {
    static func main() { AgentProgram.main() }
}
