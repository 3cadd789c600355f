import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("Messages for error causes")
struct CauseTests {
    @Test("a known cause has its own message and a hint", arguments: KnownCause.allCases)
    func known(cause: KnownCause) async throws {
        let lines = try await Self.lines(DriverCause(cause, detail: "why"))
        // The message without a cause, and with an unknown cause.
        let plain = try await Self.lines(DriverCause(domain: "nobody", code: "knows"))
        #expect(lines.first?.hasPrefix("error: ") == true, "\(lines)")
        #expect(lines.first != plain.first)
        #expect(lines.first?.contains("ended by the system") == false, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("hint: ") }, "\(lines)")
    }

    @Test("an unknown cause is printed with its domain and code")
    func unknown() async throws {
        let lines = try await Self.lines(DriverCause(domain: "nobody", code: "knows"))
        #expect(lines.first?.contains("nobody: knows") == true, "\(lines)")
    }

    /// The lines that `touchstone get` prints for `cause`; the error brings a remedy, as the daemon's errors
    /// do.
    private static func lines(_ cause: DriverCause) async throws -> [Substring] {
        let home = try TemporaryHome()
        let error = AuthenticationError(.systemCancel, cause: cause, remedy: .wait(seconds: 60))
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            while true { try peer.refuse(peer.next(), KeychainError(error)) }
        }
        let result = try await CommandRun("get", "mail", home: home).run()
        _ = daemon
        return result.errors.split(separator: "\n")
    }
}
