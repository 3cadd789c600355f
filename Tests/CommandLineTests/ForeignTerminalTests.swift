import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// Commands where no prompt can be shown: on a terminal of another user, as after `su -`, and without any terminal.
@Suite(
    "A place without prompts",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built"),
    .enabled(if: geteuid() == 0, "needs root")
)
struct ForeignTerminalTests {
    /// A user ID that is not in use.
    private static let other: uid_t = 61_959

    enum Place: CaseIterable, Sendable {
        case own, foreign, none, foreignWithDisplay

        /// What a command says of it; nil for a place that may show a prompt.
        func clause(_ terminal: String?) -> String? {
            switch self {
            case .own, .foreignWithDisplay: nil
            case .none: "there is no terminal and no display"
            case .foreign:
                "the terminal \(terminal ?? "?") belongs to user \(ForeignTerminalTests.other), not to you"
            }
        }
    }

    private static func terminal(_ place: Place) throws -> PseudoTerminal? {
        guard place != .none else { return nil }
        let terminal = try PseudoTerminal()
        if place != .own, chown(terminal.name, other, other) != 0 {
            throw TestKitError.system("chown", errno: errno)
        }
        return terminal
    }

    private func run(
        _ arguments: String...,
        keychain: RealKeychain,
        on terminal: PseudoTerminal?,
        place: Place
    ) async throws -> CommandResult {
        var run = CommandRun(arguments: arguments, home: keychain.home)
        run.terminal = terminal
        run.environment = ["TOUCHSTONE_DAEMON": Programs.touchstoned]
        if place == .foreignWithDisplay { run.environment["DISPLAY"] = ":1" }
        return try await run.run()
    }

    @Test(
        "status and doctor say whether a prompt can be shown, whose terminal it is, and what to do",
        arguments: Place.allCases
    )
    func told(place: Place) async throws {
        let keychain = try await RealKeychain.ready()
        let terminal = try Self.terminal(place)
        let clause = place.clause(terminal?.name)
        let status = try await run("status", keychain: keychain, on: terminal, place: place)
        let json = try await run("status", "--json", keychain: keychain, on: terminal, place: place)
        let doctor = try await run("doctor", keychain: keychain, on: terminal, place: place)
        #expect(status.status == 0 && doctor.status == 0, "\(doctor)")
        guard let clause else {
            #expect(status.text.contains("Prompt:     can be shown\n"), "\(status.text)")
            #expect(json.text.contains("\"promptFault\": null"), "\(json.text)")
            #expect(doctor.text.contains("ok    place for prompts: "), "\(doctor.text)")
            return
        }
        #expect(status.text.contains("Prompt:     cannot be shown here: \(clause)\n"), "\(status.text)")
        #expect(
            status.text.contains("or unlock beforehand in another place: touchstone unlock\n"),
            "\(status.text)"
        )
        #expect(json.text.contains("\"promptFault\": \"notInteractive: \(clause)\""), "\(json.text)")
        #expect(
            doctor.text.contains("warn  place for prompts: cannot be shown here: \(clause)\n      -> "),
            "\(doctor.text)"
        )
        #expect(
            doctor.text.contains("or unlock beforehand in another place: touchstone unlock\n"),
            "\(doctor.text)"
        )
        #expect(status.text.contains("script -q /dev/null") == (place == .foreign))
    }

    @Test(
        "what needs a prompt is refused with status 8 and says the same, locked and unlocked; unlocked beforehand, it works",
        arguments: [Place.foreign, .none],
        [true, false]
    )
    func refused(place: Place, isLocked: Bool) async throws {
        let keychain = try await RealKeychain.ready()
        for rule in ["passcode", "none"] {
            #expect(try await keychain.run("set", rule, "--require", rule, input: "value").status == 0)
        }
        if isLocked { #expect(try await keychain.run("lock").status == 0) }
        let terminal = try Self.terminal(place)
        let clause = try #require(place.clause(terminal?.name))
        let prompts = keychain.prompts
        for arguments in [["get", "passcode"], ["passcode", "change"]] {
            var run = CommandRun(arguments: arguments, home: keychain.home)
            run.terminal = terminal
            let refused = try await run.run()
            #expect(refused.status == 8, "\(refused)")
            #expect(
                refused.errors.hasPrefix("error: a prompt is needed, and \(clause)\nhint: "),
                "\(refused.errors)"
            )
        }
        let free = try await run("get", "none", keychain: keychain, on: terminal, place: place)
        #expect(isLocked ? free.status == 8 : free.text == "value", "\(free)")
        #expect(keychain.prompts == prompts)
    }

    @Test(
        "on another user's terminal, a terminal that script(1) makes there shows the prompt",
        .enabled(if: Programs.isBuilt("/usr/bin/script"), "script is not installed")
    )
    func wayOut() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "x", "--require", "passcode", input: "value").status == 0)
        let terminal = try #require(try Self.terminal(.foreign))
        let prompts = keychain.prompts
        var run = CommandRun("-qc", "\(Programs.touchstone) get x --show", "/dev/null", home: keychain.home)
        run.program = "/usr/bin/script"
        run.terminal = terminal
        // Without a terminal there, script types the end of a file, which is discarded with a second prompt.
        run.input = .terminal
        let shown = try await run.run()
        #expect(shown.text.contains("value"), "\(shown)")
        #expect(keychain.prompts == prompts + 1)
    }
}
