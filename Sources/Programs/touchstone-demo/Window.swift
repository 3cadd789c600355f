import Foundation
import Glibc
import TouchstoneTesting

/// A window of a user's on a machine in system mode: a shell on a terminal that controls its session.
struct Window: Sendable {
    /// How a command in it ended.
    struct Ended: Sendable {
        /// Its exit status.
        let status: Int32
        /// What the terminal showed of it, without the command's line.
        let screen: String

        /// - Throws: ``Surprise`` with what was shown, where it ended otherwise.
        func expect(_ wanted: Int32, containing text: String = "") throws {
            guard status == wanted, text.isEmpty || screen.contains(text) else {
                throw Surprise("exit \(status) instead of \(wanted)\n\(screen)")
            }
        }
    }

    /// Reads a command a line, and says how each ended.
    private static let shell = """
        while IFS= read -r line; do eval "$line"; printf '[exit %s]\\n' "$?"; done
        """
    /// The agent of the terminal, which is there while the command runs: the one place that starts it.
    private static let agent = """
        rm -f $HOME/ready; mkfifo $HOME/ready; \(Installation.agent) --terminal >$HOME/ready & read -r word <$HOME/ready; \
        %; s=$?; kill $! ; wait $!; (exit $s)
        """

    private let terminal: PseudoTerminal
    private let session: ChildProcess

    /// Opens one.
    init(of user: SystemModeMachine.Account, on machine: SystemModeMachine) async throws {
        terminal = try PseudoTerminal(columns: 120)
        guard chown(terminal.name, user.uid, user.uid) == 0 else { throw Surprise("no terminal") }
        // The leader of a session gets the first terminal that it opens as its controlling one.
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

    /// Runs a command while `person` does something at the terminal.
    ///
    /// - Parameters:
    ///   - command: a line for the shell.
    ///   - withAgent: whether the agent draws on this terminal meanwhile; else nobody, or a daemon of the user's own.
    ///   - person: what is done meanwhile.
    /// - Returns: how it ended.
    /// - Throws: ``Surprise`` with what was drawn when the person waited in vain.
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
