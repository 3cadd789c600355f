import Foundation
import Glibc
import KeychainClient
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

/// Who is killed while a command runs.
enum Victim: CaseIterable, Sendable {
    case command, daemon
}

/// Kills at the first, second, third … call of each kind, until the work is done before it.
enum KilledCalls {
    /// Makes attempts.
    ///
    /// - Parameters:
    ///   - calls: the kinds of system calls.
    ///   - most: the most kills at calls of one kind.
    ///   - attempt: makes one, with strace's options that kill, and returns whether the work was acknowledged.
    /// - Returns: the number of kills.
    /// - Throws: the errors of `attempt`.
    static func each(
        of calls: [String],
        most: Int,
        _ attempt: (_ moment: String, _ options: [String]) async throws -> Bool
    ) async throws -> Int {
        var killed = 0
        for call in calls {
            for number in 1...most {
                guard try await !attempt("killed at \(call) \(number)", Strace.killing(at: number, of: call))
                else { break }
                killed += 1
            }
        }
        return killed
    }
}

extension PrivateKeychain {
    /// Runs a line of the shell while strace kills the command, or the daemon, which runs before and not afterwards.
    ///
    /// - Returns: whether the line was acknowledged, by status 0; otherwise the victim was killed, which is expected.
    func run(
        _ line: String,
        on terminal: PseudoTerminal,
        killing victim: Victim,
        _ options: [String]
    ) async throws -> Bool {
        switch victim {
        case .command:
            let wrapper = [Strace.path, "-f", "-qq", "-e", "signal=none"] + options
            let status = try await runShell(line, on: terminal, through: wrapper)
            #expect(status == 0 || status == 128 + SIGKILL, "\(line), \(options): status \(status)")
            return status == 0
        case .daemon:
            let strace = try await Strace.attach(to: processID, options)
            let status = try await runShell(line, on: terminal)
            if status != 0 {
                let process = processID
                try await Deadline.wait(for: "the end of the killed daemon") {
                    ChildProcess.hasEnded(process) ? true : nil
                }
            }
            // Before strace is ended: it would wait for the leader of threads whose ends it has not seen.
            stop(with: SIGKILL)
            strace.detach()
            return status == 0
        }
    }

    /// The recovery code that the person noted.
    var notedCode: String {
        get throws { try String(contentsOfFile: home.appending("code"), encoding: .utf8) }
    }

    /// Stores more than one part of a backup, so that it is killed between parts too.
    ///
    /// - Returns: the values by account.
    func addLargeItems() throws -> [String: String] {
        var values: [String: String] = [:]
        for number in 0..<CaseSize.of(2, full: 24) {
            values["large \(number)"] = String(repeating: "\(number % 10)", count: 250_000)
        }
        for (account, value) in values { try add(account, value) }
        return values
    }

    /// The values of accounts; one by one, because a reply has a limit.
    func values(of accounts: some Sequence<String>) throws -> [String: String] {
        var values: [String: String] = [:]
        for account in accounts { values[account] = try value(account) }
        return values
    }
}

extension OpenedImage {
    /// The values in a backup, by account: those of a keychain that is made of it.
    static func values(inBackup path: String, code: String) async throws -> [String: String] {
        let home = try TemporaryDirectory()
        let data = home.appending("data")
        try FileImage().write(to: data)
        let engine = try engine(StoreDirectory(path: data))
        let file = try await engine.archive.makeExportFile()
        try file.append(Array(Data(contentsOf: URL(fileURLWithPath: path))))
        guard try await engine.archive.accepts(recoveryCode: SecretBytes(copying: Array(code.utf8)), of: file)
        else {
            throw TestKitError.unexpected("the recovery code does not open \(path)")
        }
        _ = try await engine.archive.setUp(
            from: file,
            passcode: SecretBytes(copying: Array(PrivateKeychain.passcode.utf8)),
            recoveryCode: SecretBytes(copying: Array(code.utf8))
        )
        let report = engine.items.check()
        guard report.damaged == 0, report.isSetAuthentic, report.faults.isEmpty else {
            throw TestKitError.unexpected("\(path): \(report)")
        }
        let values = try await items(of: engine)
        await engine.close()
        return values
    }
}
