import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// A person's machine in the first week: a keychain, a fingerprint reader, a shell on a terminal.
struct FirstWeek {
    let keychain: RealKeychain
    let fprintd: ScriptedFprintd?
    /// More variables for the commands.
    var environment: [String: String] = [:]

    var home: String { keychain.home.path }

    /// A machine without a keychain, where the program is installed.
    init(hasReader: Bool = false) async throws {
        let bus = hasReader ? try await PrivateBus.start(sensors: []) : nil
        if let bus { fprintd = try await ScriptedFprintd.start(on: bus) } else { fprintd = nil }
        keychain = try RealKeychain(bus: bus)
        let bin = home + "/bin"
        try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
        for name in ["touchstone", "git-credential-touchstone"] {
            try FileManager.default.createSymbolicLink(
                atPath: "\(bin)/\(name)",
                withDestinationPath: Programs.touchstone
            )
        }
    }

    /// Runs a line of the shell on a terminal of its own, and types what it asks for.
    ///
    /// - Parameters:
    ///   - line: the line.
    ///   - answers: what is typed after which question.
    ///   - shown: what has to be drawn then.
    /// - Returns: what was drawn.
    /// - Throws: ``TerminalError`` if a question or `shown` is not drawn.
    @discardableResult
    func type(_ line: String, answers: [(question: String, text: String)] = [], shown: String = "")
        async throws
        -> String
    {
        let terminal = try PseudoTerminal(columns: 120)
        var run = CommandRun(home: keychain.home)
        run.program = "/bin/sh"
        run.arguments = ["-c", "cd && \(line)"]
        run.terminal = terminal
        run.input = .terminal
        run.drawsOnTerminal = true
        run.environment = [
            "TOUCHSTONE_DAEMON": Programs.touchstoned, "PATH": "\(home)/bin:/usr/bin:/bin", "HOME": home,
            "XDG_RUNTIME_DIR": home, "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "TERM": "xterm",
        ].merging(environment) { $1 }
        let started = try run.start()
        for (question, text) in answers {
            try await terminal.wait(for: question)
            terminal.press(.text(text), .enter)
        }
        if !shown.isEmpty { try await terminal.wait(for: shown) }
        let result = await started.result()
        #expect(result.status == 0, "\(line): \(terminal.text)")
        return terminal.text
    }

    /// The bytes of a secret, as another program gets them.
    func value(_ name: String) async throws -> String { try await keychain.run("get", name).text }

    /// Whether the keychain is unlocked, in the status's words.
    func isUnlocked() async throws -> Bool {
        try await keychain.run("status").text.contains("Keychain:   unlocked")
    }

    /// Writes a file into the home directory.
    func write(_ text: String, to name: String) throws {
        try text.write(toFile: "\(home)/\(name)", atomically: true, encoding: .utf8)
    }

    /// Reads a file of the home directory.
    func read(_ name: String) throws -> String {
        try String(contentsOfFile: "\(home)/\(name)", encoding: .utf8)
    }

    /// Another machine of the same person, who has the recovery code and a backup of this one.
    func otherMachine(_ backup: String) async throws -> FirstWeek {
        let other = try await FirstWeek()
        for name in ["code", backup] {
            try FileManager.default.copyItem(atPath: "\(home)/\(name)", toPath: "\(other.home)/\(name)")
        }
        return other
    }
}
