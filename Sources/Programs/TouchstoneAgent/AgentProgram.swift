import CLinux
import Glibc
import KeychainModel

/// The program: hardens itself before anything else, reads its options, registers and draws what comes.
///
/// Its file is root's and set-gid: the daemon knows it by the group of its peer, and no other program of the user's has
/// that. So nothing that the caller chose may act on it: not descriptors, not limits, not signals, not a variable.
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

/// Why the agent ends: what happened and what to do, one line each.
struct AgentFailure: Error {
    /// What it exits with where it cannot serve.
    static let cannotServe: CInt = 1
    /// `EX_USAGE` of sysexits.h.
    static let usage: CInt = 64

    let message: String
    let hint: String
    var status = Self.cannotServe
    /// Whether the daemon does not take this program for its agent.
    var isRefusal = false

    /// What a refusal means where no program gains rights.
    static let confined = AgentFailure(
        message: "no program gains rights here (no-new-privileges), so the agent does not have its group",
        hint: "run it outside of this sandbox"
    )

    /// Says both lines on standard error.
    func tell() {
        let octets = Array("error: \(message)\nhint: \(hint)\n".utf8)
        _ = unsafe write(STDERR_FILENO, octets, octets.count)
    }
}
