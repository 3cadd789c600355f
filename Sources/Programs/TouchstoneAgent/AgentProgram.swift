import CLinux
import Glibc
import KeychainModel

/// The agent's main program: hardens itself first, parses its options, registers, and draws prompts.
///
/// Its file is owned by root and set-gid: the daemon recognises the agent by the group of its peer, which no other
/// program of the user has. So nothing inherited from the caller may influence it: no descriptors, limits, signals or
/// variables.
package enum AgentProgram {
    /// Runs the agent and ends the process.
    package static func main() {
        let wasConfined = AgentHardening.begin()
        let environment = AgentEnvironment.take()
        do throws(AgentFailure) {
            switch try AgentOptions(CommandLine.arguments.dropFirst()) {
            case .tell(let text):
                print(text, terminator: "")
            case .serve(let isOnTerminal):
                let place = isOnTerminal ? try AgentPlace.terminal() : try AgentPlace.graphical(environment)
                let signals = try AgentSignals()
                do throws(AgentFailure) {
                    try AgentService(place: place, environment: environment, signals: signals).run()
                } catch {
                    throw wasConfined && error.isRefusal ? .confined : error
                }
            }
        } catch {
            error.tell()
            exit(error.status)
        }
        exit(0)
    }
}

/// Why the agent exits: what happened and what to do, one line each.
struct AgentFailure: Error {
    /// The exit status when it cannot serve.
    static let cannotServe: CInt = 1
    /// `EX_USAGE` of sysexits.h.
    static let usage: CInt = 64

    let message: String
    let hint: String
    var status = Self.cannotServe
    /// Whether the daemon does not accept this program as its agent.
    var isRefusal = false

    /// The reason for a refusal under no-new-privileges.
    static let confined = AgentFailure(
        message: "no program gains rights here (no-new-privileges), so the agent does not have its group",
        hint: "run it outside of this sandbox"
    )

    /// Prints both lines on standard error.
    func tell() {
        let octets = Array("error: \(message)\nhint: \(hint)\n".utf8)
        _ = unsafe write(STDERR_FILENO, octets, octets.count)
    }
}
