import Testing
import TouchstoneTesting

@Suite(
    "Colours of status and doctor",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct ColorTests {
    /// What a command writes on a terminal.
    private func drawn(
        _ keychain: RealKeychain,
        _ command: String,
        _ environment: [String: String]
    ) async throws -> String {
        let terminal = try PseudoTerminal(columns: 60, rows: 100)
        var run = CommandRun(command, home: keychain.home)
        run.terminal = terminal
        run.drawsOnTerminal = true
        run.environment = ["TOUCHSTONE_DAEMON": Programs.touchstoned].merging(environment) { $1 }
        _ = try await run.run()
        try await terminal.wait(for: command == "status" ? ", process " : "system mode")
        return String(decoding: terminal.octets, as: UTF8.self)
    }

    @Test("on a terminal the state and each verdict have a colour")
    func colors() async throws {
        let keychain = try await RealKeychain.ready()
        let terminal = ["TERM": "xterm"]
        #expect(
            try await drawn(keychain, "status", terminal).contains("Keychain:   \u{1B}[32munlocked\u{1B}[39m")
        )
        let doctor = try await drawn(keychain, "doctor", terminal)
        #expect(doctor.contains("\u{1B}[32mok\u{1B}[39m    keychain: "), "\(doctor.debugDescription)")
        #expect(try await keychain.run("lock").status == 0)
        #expect(try await drawn(keychain, "status", terminal).contains("Keychain:   \u{1B}[33mlocked"))
        // An empty NO_COLOR is none (no-color.org).
        let empty = ["TERM": "xterm", "NO_COLOR": ""]
        #expect(try await drawn(keychain, "status", empty).contains("\u{1B}[33mlocked"))
    }

    @Test(
        "a state of several lines is coloured line by line, and an unset keychain and a failure have theirs"
    )
    func others() async throws {
        let keychain = try RealKeychain()
        let status = try await drawn(keychain, "status", ["TERM": "xterm"])
        #expect(status.contains("\u{1B}[33mnot set up"), "\(status.debugDescription)")
        for line in status.split(whereSeparator: \.isNewline) {
            let starts = line.components(of: "\u{1B}[3") - line.components(of: "\u{1B}[39m")
            #expect(starts == line.components(of: "\u{1B}[39m"), "\(line.debugDescription)")
        }
        var run = CommandRun("doctor", home: keychain.home)
        let terminal = try PseudoTerminal()
        run.terminal = terminal
        run.drawsOnTerminal = true
        run.environment = ["TERM": "xterm", "TOUCHSTONE_HOME": "relative", "HOME": "relative"]
        #expect(try await run.run().status == 1)
        try await terminal.wait(for: "places")
        #expect(String(decoding: terminal.octets, as: UTF8.self).contains("\u{1B}[31mfail\u{1B}[39m  places"))
    }

    @Test(
        "there is none with NO_COLOR, and on a terminal that has none or no type",
        arguments: [
            ["TERM": "xterm", "NO_COLOR": "1"], ["TERM": "xterm", "NO_COLOR": "0"], ["TERM": "dumb"],
            ["TERM": ""],
        ]
    )
    func none(environment: [String: String]) async throws {
        let keychain = try await RealKeychain.ready()
        for command in ["status", "doctor"] {
            #expect(try await !drawn(keychain, command, environment).contains("\u{1B}"), "\(command)")
        }
    }

    @Test("there is none in a pipe and in JSON", arguments: [["status"], ["doctor"]])
    func pipe(command: [String]) async throws {
        let keychain = try await RealKeychain.ready()
        for options in [[], ["--json"]] {
            var run = CommandRun(arguments: command + options, home: keychain.home)
            run.environment = ["TERM": "xterm", "TOUCHSTONE_DAEMON": Programs.touchstoned]
            let result = try await run.run()
            #expect(!result.output.isEmpty && !result.output.contains(0x1B))
        }
    }
}

extension Substring {
    /// How often a text occurs in it.
    fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
