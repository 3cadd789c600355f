import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("touchstone set")
struct SetTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    @Test(
        "set reads standard input and strips one trailing newline",
        arguments: [
            ("a\n", "a"), ("a", "a"), ("a\n\n", "a\n"), ("a\r\n", "a\r"), (" a b ", " a b "),
        ]
    )
    func standardInput(typed: String, stored: String) async throws {
        let keychain = try ScriptedKeychain(home)
        var run = CommandRun("set", "mail", home: home)
        run.input = .octets(Array(typed.utf8))
        let result = try await run.run()
        #expect(result.status == 0)
        #expect(result.output.isEmpty && result.errors.isEmpty)
        #expect(keychain.added == [Array(stored.utf8)])
    }

    @Test("--exact keeps every byte, also of a file")
    func exact() async throws {
        let keychain = try ScriptedKeychain(home)
        let file = home.path + "/secret"
        let octets: [UInt8] = [0, 0x0A, 0xFF, 0x0A]
        try Data(octets).write(to: URL(fileURLWithPath: file))
        #expect(
            try await CommandRun("set", "mail", "--from-file", file, "--exact", home: home).run().status == 0
        )
        #expect(try await CommandRun("set", "mail", "--from-file", file, home: home).run().status == 0)
        #expect(keychain.added == [octets, Array(octets.dropLast())])
    }

    @Test("an empty or too large secret is refused before any request")
    func sizes() async throws {
        let keychain = try ScriptedKeychain(home)
        var run = CommandRun("set", "mail", home: home)
        for (octets, words) in [
            ([], "empty"), ([0x0A], "empty"), ([UInt8](repeating: 1, count: 1_000_000), "too large"),
        ] {
            run.input = .octets(octets)
            let result = try await run.run()
            #expect(result.status == 1)
            #expect(result.errors.contains(words))
        }
        #expect(keychain.methods.isEmpty)
    }

    @Test("an unreadable file is named in the error")
    func missingFile() async throws {
        let result = try await CommandRun("set", "mail", "--from-file", "/no/such/file", home: home).run()
        #expect(result.status == 1)
        #expect(result.errors.hasPrefix("error: cannot read /no/such/file: No such file"))
        #expect(result.errors.contains("\nhint: "))
    }

    /// A `set` that reads the secret on a terminal.
    private func asking(_ terminal: PseudoTerminal) -> CommandRun {
        var run = CommandRun("set", "mail", home: home)
        run.terminal = terminal
        run.input = .terminal
        run.drawsOnTerminal = true
        return run
    }

    @Test("the secret is typed twice on the terminal without echo")
    func terminal() async throws {
        let keychain = try ScriptedKeychain(home)
        let terminal = try PseudoTerminal()
        let started = try asking(terminal).start()
        for question in ["Secret for 'mail':", "The same again:"] {
            try await terminal.wait(for: question)
            #expect(!terminal.isEchoing)
            terminal.press(.text("correct horse"), .enter)
        }
        #expect(await started.result().status == 0)
        #expect(terminal.isEchoing)
        #expect(!terminal.text.contains("horse"))
        #expect(keychain.added == [Array("correct horse".utf8)])
    }

    @Test("nothing is stored if the two entries differ")
    func different() async throws {
        let keychain = try ScriptedKeychain(home)
        let terminal = try PseudoTerminal()
        let started = try asking(terminal).start()
        try await terminal.wait(for: "Secret for 'mail':")
        terminal.press(.text("one"), .enter)
        try await terminal.wait(for: "The same again:")
        terminal.press(.text("two"), .enter)
        #expect(await started.result().status == 1)
        try await terminal.wait(for: "not the same")
        #expect(!keychain.methods.contains(.addItem))
    }

    @Test("the end of input cancels")
    func endOfInput() async throws {
        let keychain = try ScriptedKeychain(home)
        let terminal = try PseudoTerminal()
        let started = try asking(terminal).start()
        try await terminal.wait(for: "Secret for 'mail':")
        terminal.press(.endOfFile)
        #expect(await started.result().status == 4)
        #expect(terminal.isEchoing)
        #expect(!keychain.methods.contains(.addItem))
    }

    @Test("the interrupt key restores the terminal's echo")
    func interrupt() async throws {
        let keychain = try ScriptedKeychain(home)
        let terminal = try PseudoTerminal()
        let started = try asking(terminal).start()
        try await terminal.wait(for: "Secret for 'mail':")
        #expect(!terminal.isEchoing)
        terminal.press(.interrupt)
        #expect(await started.result().signal == SIGINT)
        #expect(terminal.isEchoing)
        #expect(!keychain.methods.contains(.addItem))
    }

    @Test("a signal restores the terminal's echo", arguments: [SIGTERM, SIGHUP, SIGQUIT])
    func termination(signal: Int32) async throws {
        let keychain = try ScriptedKeychain(home)
        let terminal = try PseudoTerminal()
        let started = try asking(terminal).start()
        try await terminal.wait(for: "Secret for 'mail':")
        kill(started.processID, signal)
        #expect(await started.result().signal == signal)
        #expect(terminal.isEchoing)
        #expect(!keychain.methods.contains(.addItem))
    }

    @Test("the stop key restores the terminal for the shell, and fg asks again")
    func stopKey() async throws {
        let keychain = try ScriptedKeychain(home)
        let terminal = try PseudoTerminal()
        let shell = try await ChildProcess.start(
            "/bin/sh",
            ["-c", "exec 0<>\(terminal.name) 1>&0 2>&0; exec /bin/bash --norc --noprofile --noediting -i"],
            environment: [
                "TERM": "dumb", "PATH": "/usr/bin:/bin", "PS1": "ready> ", "HISTFILE": "",
                "TOUCHSTONE_HOME": home.path, "TOUCHSTONE_DAEMON": "/nonexistent",
            ]
        )
        defer { shell.stop() }
        try await terminal.wait(for: "ready>")
        #expect(terminal.isEchoing && terminal.isCanonical)
        terminal.press(.text("\(Programs.touchstone) set mail; echo sta''tus=$?"), .enter)
        try await terminal.wait(for: "Secret for 'mail':")
        #expect(!terminal.isEchoing)
        terminal.press(.text("half\u{1A}"))
        try await terminal.wait(for: "Stopped")
        #expect(terminal.isEchoing && terminal.isCanonical)
        terminal.press(.text("fg"), .enter)
        for question in ["Secret for 'mail':", "The same again:"] {
            try await terminal.wait(for: question)
            try await Deadline.wait(for: "a terminal without echo") { terminal.isEchoing ? nil : true }
            terminal.press(.text("whole"), .enter)
        }
        try await terminal.wait(for: "ready>")
        terminal.press(.text("echo do''ne"), .enter)
        try await terminal.wait(for: "done")
        #expect(terminal.isEchoing && !terminal.text.contains("half") && !terminal.text.contains("whole"))
        #expect(keychain.added == [Array("whole".utf8)])
    }

    @Test(
        "what --require and --characters take is named",
        arguments: [
            (["set", "a", "--require", "blood"], ["'finger'", "'passcode'", "'either'", "'none'"]),
            (["generate", "a", "--require", ""], ["'finger'", "'passcode'", "'either'", "'none'"]),
            (["require", "a", "blood"], ["finger, passcode, either or none"]),
            (["generate", "a", "--characters", "blood"], ["lower, upper, letters, digits, hex and symbols"]),
            (["generate", "a", "--characters", ""], ["lower, upper, letters, digits, hex and symbols"]),
            (["generate", "a", "--characters", "letters,lower"], ["letters has lower and upper"]),
        ]
    )
    func allowed(arguments: [String], words: [String]) async throws {
        let result = try await CommandRun(arguments: arguments, home: home).run()
        #expect(result.status == 64)
        for word in words { #expect(result.errors.contains(word), "\(result.errors)") }
    }

    @Test(
        "what is refused anyway is refused before anything is typed, and --replace asks",
        arguments: [false, true]
    )
    func refusedFirst(replaces: Bool) async throws {
        let keychain = try ScriptedKeychain(home, ["mail": .init(octets: [1])])
        let terminal = try PseudoTerminal()
        var run = asking(terminal)
        if replaces { run.arguments.append("--replace") }
        let started = try run.start()
        if replaces {
            try await terminal.wait(for: "Secret for 'mail':")
            terminal.press(.interrupt)
            return #expect(await started.result().signal == SIGINT)
        }
        #expect(await started.result().status == 10)
        try await terminal.wait(for: "hint: use --replace to replace it")
        #expect(!terminal.text.contains("Secret for"))
        #expect(keychain.methods == [.copyItems])
    }

    @Test("no daemon is told before anything is typed")
    func daemonFirst() async throws {
        let terminal = try PseudoTerminal()
        #expect(try await asking(terminal).start().result().status == 7)
        try await terminal.wait(for: "hint: ")
        #expect(!terminal.text.contains("Secret for"))
    }

    @Test(
        "a secret given as an argument is refused, and not repeated",
        arguments: [["set"], ["add", "--replace"]]
    )
    func argument(command: [String]) async throws {
        let keychain = try ScriptedKeychain(home)
        let result = try await CommandRun(arguments: command + ["mail", "hunter2", "more"], home: home).run()
        #expect(result.status == 64)
        #expect(result.errors.hasPrefix("error: a secret is never an argument"))
        #expect(result.errors.contains("pipe it in, or type it when asked by: touchstone set mail"))
        #expect(!result.errors.contains("hunter2"))
        #expect(keychain.methods.isEmpty)
    }
}

@Suite(
    "touchstone set with its daemon",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct SetBeforeTypingTests {
    /// Runs `set` at a terminal, where nothing is to be typed.
    private func refused(_ keychain: RealKeychain, _ options: String...) async throws -> (Int32?, String) {
        let terminal = try PseudoTerminal()
        var run = CommandRun(arguments: ["set", "mail"] + options, home: keychain.home)
        run.terminal = terminal
        run.input = .terminal
        run.drawsOnTerminal = true
        run.environment = ["TOUCHSTONE_DAEMON": Programs.touchstoned]
        let status = try await run.start().result().status
        try await terminal.wait(for: "hint: ")
        #expect(!terminal.text.contains("Secret for"), "\(terminal.text)")
        return (status, terminal.text)
    }

    @Test(
        "without a keychain, a sensor or an enrolled finger nothing is to be typed",
        arguments: [false, true]
    )
    func unusable(replaces: Bool) async throws {
        let options = replaces ? ["--replace"] : []
        let none = try await refused(try RealKeychain(), replaces ? "--replace" : "--exact")
        #expect(none.0 == 7 && none.1.contains("there is no keychain yet"))
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(on: bus, .init(sensors: [.init(fingers: [])]))
        let keychain = try await RealKeychain.ready(bus: bus)
        let unenrolled = try await refused(keychain, "--require=finger", options.first ?? "--exact")
        #expect(unenrolled.0 == 7 && unenrolled.1.contains("none is enrolled"), "\(unenrolled)")
        fprintd.change { $0.sensors = [] }
        let missing = try await refused(keychain, "--require=finger", options.first ?? "--exact")
        #expect(missing.0 == 7 && missing.1.contains("'mail' was not stored"), "\(missing)")
    }
}
