import Foundation
import Glibc
import TouchstoneTesting

/// A user's window on a machine in system mode: a shell with a controlling terminal.
struct Window: Sendable {
    /// The result of a command in the window.
    struct Ended: Sendable {
        /// Its exit status.
        let status: Int32
        /// The terminal's output, without the command line.
        let screen: String

        /// - Throws: ``Surprise`` with the output if the result differs.
        func expect(_ wanted: Int32, containing text: String = "") throws {
            guard status == wanted, text.isEmpty || screen.contains(text) else {
                throw Surprise("exit \(status) instead of \(wanted)\n\(screen)")
            }
        }
    }

    /// Reads one command per line, and prints the exit status of each.
    private static let shell = """
        while IFS= read -r line; do eval "$line"; printf '[exit %s]\\n' "$?"; done
        """
    /// Starts the terminal's agent, which runs as long as the command: the one place that starts it.
    private static let agent = """
        rm -f $HOME/ready; mkfifo $HOME/ready; \(Installation.agent) --terminal >$HOME/ready & read -r word <$HOME/ready; \
        %; s=$?; kill $! ; wait $!; (exit $s)
        """

    private let terminal: PseudoTerminal
    private let session: ChildProcess

    /// Opens a window.
    init(of user: SystemModeMachine.Account, on machine: SystemModeMachine) async throws {
        terminal = try PseudoTerminal(columns: 120)
        guard chown(terminal.name, user.uid, user.uid) == 0 else { throw Surprise("no terminal") }
        // The first terminal that a session leader opens becomes its controlling terminal.
        session = try await machine.start(
            [
                "/bin/sh", "-c",
                "exec 0<>'\(terminal.name)' 1>&0 2>&0; stty -echo; echo '[exit 0]'; \(Self.shell)",
            ],
            as: user,
            environment: [
                "TERM": "xterm", "LANG": "C.UTF-8", "PATH": "\(SystemModeMachine.programs):/usr/bin:/bin",
            ],
            log: machine.directory.appending("window.log")
        )
        try await terminal.wait(for: "[exit 0]")
    }

    /// Runs a command while `person` acts at the terminal.
    ///
    /// - Parameters:
    ///   - command: a shell command line.
    ///   - withAgent: whether the agent draws on this terminal meanwhile; without it, only a daemon of the user's own
    ///     can draw.
    ///   - person: the actions at the terminal.
    /// - Returns: the command's result.
    /// - Throws: ``Surprise`` with the terminal's output if an expected text did not appear.
    @discardableResult
    func run(
        _ command: String,
        withAgent: Bool = true,
        person: @Sendable (PseudoTerminal) async throws -> Void = { _ in }
    ) async throws -> Ended {
        let before = terminal.text.count
        terminal.skip()
        terminal.press(
            .text(withAgent ? Self.agent.replacing("%", with: "{ \(command); }") : command),
            .enter
        )
        do {
            try await person(terminal)
            try await terminal.wait(for: "[exit ")
            try await terminal.wait(for: "]")
        } catch {
            throw Surprise("\(command): \(error)\n\(terminal.text.dropFirst(before))")
        }
        let shown = terminal.text.dropFirst(before)
        guard let end = shown.firstRange(of: "[exit "),
            let status = Int32(shown[end.upperBound...].prefix { $0 != "]" })
        else { throw Surprise("\(command): no end\n\(shown)") }
        return Ended(status: status, screen: String(shown[..<end.lowerBound]))
    }
}
