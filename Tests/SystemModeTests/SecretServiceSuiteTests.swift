import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// The suites of the Secret Service that CommandLineTests runs against a daemon of the user's own, with an agent of each user.
@Suite(
    "The suites of the Secret Service in system mode",
    .enabled(
        if: TerminalPerson.isPossible && UnitSandbox.isPossible
            && access(Programs.directory + "/touchstone-secrets", X_OK) == 0,
        "needs root, a machine that lets it mount, pinentry-tty, and a built touchstone-agent"
    ),
    .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges")
)
struct SecretServiceSuiteTests {
    private static let suites = [
        "ForeignTests", "KeyringImportTests", "LeaseTests", "PortalTests", "PromptEndTests", "ProtectTests",
        "ReadsTests",
        "SecretServiceClientTests", "SecretServiceDifferenceTests", "SecretServiceLoadTests",
        "SecretServiceLockTests",
        "SecretServiceTests",
    ]

    @Test("they pass for users whose keychains are kept by the system account")
    func suite() async throws {
        let machine = try await SystemModeMachine.startForSuite(
            configuration: TerminalPerson.settings + [
                "biometry = off", "tpm = off",
                // The broker of a busy machine must answer in time too.
                "test.broker-patience = 60",
            ]
        )
        let broker = try await machine.startBroker()
        defer { broker.stop() }
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let log = machine.directory.appending("suite.log")
        let suite = try await machine.start(
            [
                program, "--testing-library", "swift-testing",
                "--filter", "^CommandLineTests\\.(\(Self.suites.joined(separator: "|")))/",
            ],
            as: .root,
            environment: [
                "TOUCHSTONE_TEST_MACHINE": "1", "TOUCHSTONE_BIN": SystemModeMachine.programs, "NO_COLOR": "1",
                "TMPDIR": FileManager.default.temporaryDirectory.path,
            ],
            log: log
        )
        let finished = try Finished(await suite.waitUntilEnd(atMost: .seconds(1200)), log: log)
        let lines = finished.output.split(separator: "\n")
        let failures = lines.filter { $0.hasPrefix("✘") }
        #expect(finished.status == 0 && failures.isEmpty, "\(failures.joined(separator: "\n"))")
        // Each of the suites has run.
        let passed = lines.filter { $0.hasPrefix("✔ Test ") && $0.contains(" passed after ") }
        let ended = lines.filter { $0.hasPrefix("✔ Suite ") && $0.contains(" passed after ") }
        #expect(passed.count > 60, "\(passed.count) tests")
        #expect(ended.count == Self.suites.count, "\(ended.joined(separator: "\n"))")
    }
}
