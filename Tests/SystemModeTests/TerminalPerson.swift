import Foundation
import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

/// A user at a terminal of a machine in system mode; a real pinentry or the agent shows the prompts.
struct TerminalPerson {
    /// Settings without test parts, except for a cheap passcode derivation.
    static let settings = ["test.scrypt-log2-rounds = 10", "idle-exit = 0", "log-level = info"]
    /// The program that shows passcode prompts.
    static let pinentry = "/usr/bin/pinentry-tty"
    static var isPossible: Bool {
        SystemModeMachine.isPossible && access(pinentry, X_OK) == 0 && access(Programs.agent, X_OK) == 0
    }
    /// Whether set-gid programs get their group here, which not even root can change.
    static var getsGroup: Bool { !SystemModeMachine.isPossible || SystemModeMachine.canSetGroups }

    let machine: SystemModeMachine
    let terminal: PseudoTerminal
    let user: SystemModeMachine.Account
    /// The shell into which all commands are typed; nil: a session for each command.
    private let shell: ChildProcess?

    init(on machine: SystemModeMachine, as user: SystemModeMachine.Account = .alice) throws {
        (self.machine, self.user, shell) = (machine, user, nil)
        terminal = try PseudoTerminal()
    }

    /// Uses an interactive shell, so that all commands share a session.
    init(
        atShellOf machine: SystemModeMachine,
        as user: SystemModeMachine.Account = .alice,
        beginsLogin: Bool = false
    ) async throws {
        (self.machine, self.user) = (machine, user)
        terminal = try PseudoTerminal(columns: 200)
        shell = try await machine.startSession(
            "exec /bin/bash --norc --noprofile -i",
            on: terminal,
            as: user,
            environment: ["PS1": "ready> ", "HISTFILE": ""],
            beginsLogin: beginsLogin
        )
        try await terminal.wait(for: "ready>")
    }

    /// Starts `touchstone` with shell arguments, in a session on the terminal, or in the shell.
    func start(_ arguments: String) async throws -> ChildProcess? {
        terminal.skip()
        guard shell == nil else {
            terminal.press(.text("touchstone \(arguments); echo \"ended wi\"\"th $?\""), .enter)
            return nil
        }
        return try await machine.startSession(
            "touchstone \(arguments); echo \"ended with $?\"",
            on: terminal,
            as: user
        )
    }

    /// Waits for the end of a command, and returns its status.
    func end(of process: ChildProcess?) async throws -> Int32 {
        try await terminal.wait(for: "ended with")
        let status = try await Deadline.wait(for: "the status") {
            // The status of the last command, which may not be complete yet.
            let parts = terminal.text.split(separator: "ended with ", omittingEmptySubsequences: false)
            return parts.last?.prefixMatch(of: /(\d+)\s/).flatMap { Int32($0.output.1) }
        }
        try await process?.waitUntilEnd()
        return status
    }

    /// Runs `touchstone` and enters the passcode in `passcodes` prompts.
    func run(_ arguments: String, passcodes: Int = 0) async throws -> Int32 {
        let process = try await start(arguments)
        for _ in 0..<passcodes { try await type(PrivateKeychain.passcode, after: "Passcode:") }
        return try await end(of: process)
    }

    /// Types into a prompt.
    func type(_ text: String, after label: String) async throws {
        try await terminal.wait(for: label)
        try await waitForField()
        terminal.press(.text(text), .enter)
    }

    /// Waits until the agent reads keys: before, input is discarded, and the interrupt key is a signal to the shell as
    /// well.
    func waitForField() async throws {
        try await Deadline.wait(for: "a field") { terminal.isEchoing ? nil : true }
    }

    /// Sets up a keychain.
    func setUp() async throws -> Int32 {
        let process = try await start("setup")
        try await type(PrivateKeychain.passcode, after: "Passcode:")
        try await type(PrivateKeychain.passcode, after: "Again:")
        try await terminal.wait(for: "not shown again")
        let code = try await Deadline.wait(for: "the recovery code") {
            terminal.text.firstMatch(of: /([0-9A-HJKMNP-TV-Z]{4}-){6}[0-9A-HJKMNP-TV-Z]{4}/).map {
                String($0.output.0)
            }
        }
        try await terminal.wait(for: "Press any key")
        terminal.press(.enter)
        try await type(code, after: "Recovery code:")
        return try await end(of: process)
    }

    /// The agents on this terminal.
    var agents: [Int32] {
        var status = stat()
        guard stat(terminal.name, &status) == 0 else { return [] }
        let device = UInt64(status.st_rdev)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap(Int32.init).filter { process in
            guard ProcessStat(of: process)?.terminal == device, !ChildProcess.hasEnded(process) else {
                return false
            }
            let command = (try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(process)/cmdline"))) ?? Data()
            return command.starts(with: SystemModeMachine.agent.utf8)
        }
    }

    /// Waits until no agent is on this terminal.
    func expectNoAgent() async throws {
        try await Deadline.wait(for: "the agent's end") { agents.isEmpty ? true : nil }
    }

    /// The modes of the terminal.
    var modes: [UInt32] {
        let descriptor = open(terminal.name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(descriptor) }
        var modes = termios()
        guard tcgetattr(descriptor, &modes) == 0 else { return [] }
        return [modes.c_iflag, modes.c_oflag, modes.c_cflag, modes.c_lflag]
    }
}
