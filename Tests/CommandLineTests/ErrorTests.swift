import KeychainModel
import ScriptedDaemon
import Testing

@Suite("Errors of the keychain")
struct ErrorTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    /// An error, its exit status, and words expected in its message.
    struct Case: Sendable, CustomTestStringConvertible {
        let error: KeychainError
        let status: Int32
        let error1: String
        let hint: String?
        var testDescription: String { "\(status): \(error1)" }
    }

    private static let driver = DriverCause(
        domain: "fprintd",
        code: "net.reactivated.Fprint.Error.NoSuchDevice"
    )

    private static let cases: [Case] = [
        Case(error: KeychainError(.itemNotFound), status: 3, error1: "no secret named 'mail'", hint: "list"),
        Case(
            error: KeychainError(.itemNotFound, cause: .invalidated),
            status: 3,
            error1: "enrolled",
            hint: "touchstone set --replace mail"
        ),
        Case(
            error: KeychainError(AuthenticationError(.userCancel)),
            status: 4,
            error1: "cancelled",
            hint: nil
        ),
        Case(
            error: KeychainError(AuthenticationError(.systemCancel, remedy: .retry)),
            status: 4,
            error1: "ended by the system",
            hint: "try again"
        ),
        Case(
            error: KeychainError(AuthenticationError(.authenticationFailed)),
            status: 5,
            error1: "authentication failed",
            hint: nil
        ),
        Case(
            error: KeychainError(AuthenticationError(.biometryLockout, remedy: .usePasscode)),
            status: 6,
            error1: "until the passcode",
            hint: "touchstone unlock"
        ),
        Case(
            error: KeychainError(AuthenticationError(.authenticationFailed, remedy: .wait(seconds: 3700))),
            status: 6,
            error1: "failed",
            hint: "wait 1 h 2 min"
        ),
        Case(
            error: KeychainError(.authFailed, cause: .closed, remedy: .recover),
            status: 6,
            error1: "ten wrong passcodes",
            hint: "touchstone recover"
        ),
        Case(
            error: KeychainError(AuthenticationError(.biometryNotAvailable, cause: driver)),
            status: 7,
            error1: "NoSuchDevice",
            hint: nil
        ),
        Case(
            error: KeychainError(.allocate, cause: .tooManyConnections, remedy: .retry),
            status: 7,
            error1: "too many connections: the daemon serves 256",
            hint: "then try again"
        ),
        Case(
            error: KeychainError(AuthenticationError(.biometryNotEnrolled)),
            status: 7,
            error1: "no finger",
            hint: "fprintd-enroll"
        ),
        Case(
            error: KeychainError(.notAvailable, cause: .notSetUp, remedy: .setPasscode),
            status: 7,
            error1: "no keychain yet",
            hint: "touchstone setup"
        ),
        Case(
            error: KeychainError(AuthenticationError(.notInteractive, remedy: .provideTerminal)),
            status: 8,
            error1: "a prompt is needed",
            hint: "terminal"
        ),
        Case(
            error: KeychainError(.interactionNotAllowed, cause: .locked, remedy: .unlock),
            status: 8,
            error1: "locked",
            hint: "touchstone unlock"
        ),
        Case(error: KeychainError(.decode, cause: .damaged), status: 9, error1: "damaged", hint: "doctor"),
        Case(error: KeychainError(.duplicateItem), status: 10, error1: "already", hint: "--replace"),
        Case(error: KeychainError(.diskFull), status: 1, error1: "disk is full", hint: nil),
        Case(error: KeychainError(Status(rawValue: -12345)), status: 1, error1: "-12345", hint: nil),
    ]

    @Test(
        "each error has one exit status, one error line, and a hint if there is a remedy",
        arguments: Self.cases
    )
    func mapping(expected: Case) async throws {
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            while true { try peer.refuse(peer.next(), expected.error) }
        }
        let result = try await CommandRun("get", "mail", home: home).run()
        #expect(result.status == expected.status)
        #expect(result.output.isEmpty)
        let lines = result.errors.split(separator: "\n")
        #expect(lines.first?.hasPrefix("error: ") == true)
        #expect(lines.first?.contains(expected.error1) == true, "\(result.errors)")
        #expect(lines.count == (expected.hint == nil ? 1 : 2), "\(result.errors)")
        if let hint = expected.hint {
            #expect(lines.last?.hasPrefix("hint: ") == true)
            #expect(lines.last?.contains(hint) == true, "\(result.errors)")
        }
        #expect(daemon.connections == 1)
    }

    @Test("control characters in the daemon's text are not written to the terminal")
    func harmless() async throws {
        let error = KeychainError(
            .io,
            cause: DriverCause(domain: "x", code: "\u{1B}[2J\nerror: forged\u{202E}")
        )
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            try peer.refuse(peer.next(), error)
        }
        let result = try await CommandRun("get", "mail", home: home).run()
        #expect(result.status == 1)
        #expect(!result.errors.contains("\u{1B}"))
        #expect(!result.errors.contains("\u{202E}"))
        #expect(result.errors.split(separator: "\n").count == 2)
        _ = daemon
    }
}
