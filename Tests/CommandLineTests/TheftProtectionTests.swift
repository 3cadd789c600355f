import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// The cells: off, away, always; trusted, another network, a cable; a name that no terminal should get; text, JSON, exit statuses,
/// completion; before and after the hour; before set-up and locked.
@Suite(
    "touchstone theft-protection",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built"),
    .timeLimit(.minutes(20))
)
struct TheftProtectionTests {
    private let bus: PrivateBus
    private let network: ScriptedNetworkManager
    private let clock: String
    private let keychain: RealKeychain

    init() async throws {
        bus = try await PrivateBus.start(sensors: [])
        network = try await ScriptedNetworkManager(bus, .secured("home"))
        clock = bus.directory.appending("clock")
        try "0\n".write(toFile: clock, atomically: true, encoding: .utf8)
        let owner = geteuid() == 0 ? [] : ["test.bus-owner-uid = \(geteuid())"]
        keychain = try await RealKeychain.ready(
            bus: bus,
            settings: ["test.clock-offset-file = \(clock)"] + owner
        )
    }

    private func run(_ arguments: String...) async throws -> CommandResult {
        try await keychain.run(all: ["theft-protection"] + arguments)
    }

    private func shown() async throws -> [String: Any] {
        let result = try await run("--json")
        let json = try JSONSerialization.jsonObject(with: Data(result.text.utf8))
        return try #require(json as? [String: Any])
    }

    @Test("on, a change that waits, an hour later, off; each step is told")
    func story() async throws {
        #expect(try await run().text == "Theft protection: off\nThis place:       home (not trusted)\n")
        let early = try await run("on")
        #expect(early.status == 1 && early.errors.contains("hint: touchstone theft-protection trust"))
        let trusted = try await run("trust")
        #expect(trusted.status == 0 && trusted.errors == "home is a trusted place.\n")
        #expect(try await run("on").status == 0)
        #expect(try await run().text.contains("on away from trusted places; this is one"))
        #expect(try await keychain.run("passcode", "change").status == 0)

        await network.move(to: .wired)
        let prompts = keychain.prompts
        let waits = try await keychain.run("passcode", "change")
        #expect(waits.status == 6)
        #expect(waits.errors.contains("error: theft protection is on, so this change has to wait"))
        #expect(waits.errors.contains("hint: wait 1 h, then try again"))
        #expect(keychain.prompts == prompts + 1, "no new passcode is asked for")
        let shown = try await shown()
        #expect(shown["mode"] as? String == "away" && shown["inEffect"] as? Bool == true)
        #expect(shown["trusted"] as? [String] == ["home"] && shown["here"] is NSNull)
        let waiting = try #require(shown["waiting"] as? [[String: Any]])
        #expect(waiting.map { $0["change"] as? String } == ["passcode"])
        let status = try await keychain.run("status")
        #expect(status.text.contains("a change of the passcode was asked for: it can be made in"))

        try "3600000000000\n".write(toFile: clock, atomically: true, encoding: .utf8)
        #expect(try await keychain.run("passcode", "change").status == 0)
        #expect(try await run("off").status == 6)
        await network.move(to: .secured("home"))
        #expect(try await run("off").errors == "Theft protection is off.\n")
        let after = try await keychain.run("status")
        #expect(!after.text.contains("Theft"))
    }

    @Test("what cannot be a place is refused with the reason, and what is none is not found")
    func places() async throws {
        await network.move(to: .wired)
        let wired = try await run("trust")
        #expect(wired.status == 1 && wired.errors.contains("a cable does not tell where it leads"))
        let none = try await run("distrust", "nowhere")
        #expect(none.status == 3 && none.errors.contains("error: nowhere is no trusted place"))
        #expect(try await run("distrust", "hex:xy").status == 3)

        await network.move(to: .secured("\u{1B}[31m red", profile: "p"))
        let trusted = try await run("trust")
        #expect(trusted.status == 0 && !trusted.errors.contains("\u{1B}"))
        let shown = try await run().text
        #expect(shown.contains("Trusted:          hex:1b5b33316d20726564\n"))
        #expect(try await run("distrust", "hex:1b5b33316d20726564").status == 0)
        #expect(try await run().text.contains("off\n"))
    }

    @Test("always: at home too, and locked it says what to do")
    func always() async throws {
        #expect(try await run("trust").status == 0)
        #expect(try await run("on", "--always").status == 0)
        #expect(try await keychain.run("recovery", "new").status == 6)
        #expect(try await run("on").status == 6, "to weaken it waits")
        try keychain.stop(with: SIGTERM)
        let locked = try await run()
        #expect(locked.status == 8 && locked.errors.contains("hint: touchstone unlock"))
        #expect(try await keychain.run("recovery", "new").status == 6)
        #expect(try await run().text.contains("a change of the recovery code was asked for"))
    }
}
