import KeychainModel
import ScriptedDaemon
import Testing

@Suite("A hint")
struct HintTests {
    private static let commands: [[String]] = [
        ["get", "mail"], ["delete", "mail", "--yes"], ["list"], ["show", "mail"], ["setup"], ["unlock"],
        ["lock"],
        ["passcode", "change"], ["recover"], ["migrate"], ["status"],
    ]

    /// Every fault of hardware, disk and keybag, as the daemon tells it; the system's cancellation is around most.
    private static let faults: [KeychainError] = {
        let causes: [(DriverCause, Remedy?)] = [
            (.otherHardware, .recover), (.missingHardware, .check), (.silentHardware, .check),
            (.missingIndex, .recover), (.exhausted, .recover), (.chipLockout, .wait(seconds: 600)),
            (.ownerAuthorizationSet, .check), (.closed, .recover), (.locked, .unlock),
            (.notSetUp, .setPasscode),
            (.damaged, .check), (.rolledBack, .recover),
            (DriverCause(domain: "system", code: "EROFS"), .check),
            (DriverCause(domain: "system", code: "EIO"), .check),
            (DriverCause(domain: "system", code: "ENOSPC"), .check),
            (DriverCause(domain: "sqlite", code: "8"), nil),
            (DriverCause(domain: "touchstone", code: "attemptsUnavailable"), .check),
            (DriverCause(domain: "touchstone", code: "passcodeDue"), .usePasscode),
            (DriverCause(domain: "touchstone", code: "enrolmentChanged"), .usePasscode),
            (DriverCause(domain: "keybag", code: "alreadySetUp"), nil),
        ]
        return causes.map { KeychainError(AuthenticationError(.systemCancel, cause: $0.0, remedy: $0.1)) }
            + [Remedy.check, .unlock, .usePasscode, .recover, .setPasscode].map {
                KeychainError(AuthenticationError(.systemCancel, remedy: $0))
            }
    }()

    @Test("never names the command that gave it", arguments: commands)
    func elsewhere(command: [String]) async throws {
        for fault in Self.faults {
            let home = try TemporaryHome()
            let daemon = try ScriptedDaemon(home) { peer in
                try peer.welcome()
                while true { try peer.refuse(peer.next(), fault) }
            }
            let result = try await CommandRun(arguments: command, home: home).run()
            #expect(result.status != 0)
            for line in result.errors.split(separator: "\n") where line.hasPrefix("hint: ") {
                #expect(!line.contains("touchstone \(command[0])"), "\(fault): \(line)")
            }
            if fault.cause?.code == "EROFS" {
                #expect(result.errors.contains("can only be read"), "\(result.errors)")
                #expect(!result.errors.contains("ended by the system"))
                #expect(result.status == 7)
            }
            _ = daemon
        }
    }
}
