import Foundation
import KeychainModel
import ScriptedDaemon
import Testing

@Suite("Hints")
struct HintTests {
    private static let commands: [[String]] = [
        ["get", "mail"], ["delete", "mail", "--yes"], ["rm", "mail", "--yes"], ["list"], ["ls"],
        ["show", "mail"], ["setup"], ["unlock"], ["lock"], ["passcode", "change"], ["recover"], ["migrate"],
        ["recovery", "new"], ["recovery", "check"], ["require", "mail", "none"],
        ["status"], ["doctor"], ["repair"], ["attest"], ["set", "mail"], ["add", "mail"],
        ["set", "mail", "--replace"], ["generate", "mail"], ["edit", "mail"], ["copy", "mail", "post"],
        ["cp", "mail", "post"], ["rename", "mail", "post"], ["mv", "mail", "post"], ["find", "mail"],
        ["run", "--env", "A=mail", "--", "true"], ["run", "--mask", "--env", "A=mail", "--", "true"],
        ["inject"], ["apps"], ["apps", "move", "/old", "/bin/sh"], ["backup", "file"],
        ["migrate", "--export", "file"],
    ]

    /// Every fault of hardware, disk and keybag as the daemon reports it; most are wrapped in a system
    /// cancellation.
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

    /// A command's name and its alias.
    private static func names(of command: [String]) -> [String] {
        let pairs = [
            ["delete", "rm"], ["list", "ls"], ["set", "add"], ["copy", "cp"], ["rename", "mv"],
        ]
        return pairs.first { $0.contains(command[0]) } ?? [command[0]]
    }

    @Test("a hint never suggests the command that printed it", arguments: commands)
    func elsewhere(command: [String]) async throws {
        for fault in Self.faults {
            let home = try TemporaryHome()
            let daemon = try ScriptedDaemon(home) { peer in
                try peer.welcome()
                while true { try peer.refuse(peer.next(), fault) }
            }
            var run = CommandRun(arguments: command, home: home)
            run.input = .octets(Array("{{ touchstone://mail }}\n".utf8))
            run.environment = ["EDITOR": "true"]
            // Files that a command may write.
            run.environment["HOME"] = home.path
            if let last = run.arguments.last, last == "file" {
                run.arguments[run.arguments.count - 1] = home.path + "/export"
            }
            let result = try await run.run()
            #expect(result.status != 0, "\(command) \(fault)")
            // `doctor` writes its advice to standard output.
            let advice = (result.errors + result.text).split(separator: "\n")
                .filter { $0.hasPrefix("hint: ") || $0.contains("-> ") || $0.hasPrefix("            ") }
            for name in Self.names(of: command) {
                for line in advice {
                    let leads = line.range(of: "touchstone \(name)\\b(?! --)", options: .regularExpression)
                    #expect(leads == nil, "\(command), \(fault): \(line)")
                }
            }
            if fault.cause?.code == "EROFS", !["doctor", "edit"].contains(command[0]) {
                #expect(result.errors.contains("can only be read"), "\(result.errors)")
                #expect(!result.errors.contains("ended by the system"))
                #expect(result.status == 7)
            }
            _ = daemon
        }
    }
}
