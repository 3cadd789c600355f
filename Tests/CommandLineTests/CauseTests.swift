import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("A cause")
struct CauseTests {
    @Test("that is known has a text of its own and says what to do", arguments: KnownCause.allCases)
    func known(cause: KnownCause) async throws {
        let lines = try await Self.lines(DriverCause(cause, detail: "why"))
        // What the error says without a cause, and with one that nobody knows.
        let plain = try await Self.lines(DriverCause(domain: "nobody", code: "knows"))
        #expect(lines.first?.hasPrefix("error: ") == true, "\(lines)")
        #expect(lines.first != plain.first)
        #expect(lines.first?.contains("ended by the system") == false, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("hint: ") }, "\(lines)")
    }

    @Test("that nobody knows is told as it came")
    func unknown() async throws {
        let lines = try await Self.lines(DriverCause(domain: "nobody", code: "knows"))
        #expect(lines.first?.contains("nobody: knows") == true, "\(lines)")
    }

    /// What `touchstone get` says of it; the remedy is one that the error brings, as the daemon's do.
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
