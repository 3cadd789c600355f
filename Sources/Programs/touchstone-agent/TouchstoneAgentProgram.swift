import TouchstoneAgent

/// Draws the prompts of a daemon that runs under a dedicated account, in the user's session.
@main
enum TouchstoneAgentProgram {
    static func main() { AgentProgram.main() }
}
