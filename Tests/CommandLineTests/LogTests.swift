import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("touchstone log")
struct LogTests {
    private let home: TemporaryHome
    private var file: String { home.layout.dataDirectory + "/daemon.log" }

    init() throws {
        home = try TemporaryHome()
        try FileManager.default.createDirectory(
            atPath: home.layout.dataDirectory,
            withIntermediateDirectories: true
        )
    }

    /// A line as the daemon writes it.
    private static func line(_ number: Int) -> String {
        "2026-11-28T00:00:00.\(100_000 + number)Z notice audit event=\"keybagUnlocked\" number=\"\(number)\""
    }

    private func write(_ lines: [String], to path: String) throws {
        try lines.map { $0 + "\n" }.joined().write(toFile: path, atomically: false, encoding: .utf8)
    }

    /// Appends as the daemon does, in one write.
    private func append(_ lines: String...) throws {
        let handle = try #require(FileHandle(forWritingAtPath: file))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
        try handle.close()
    }

    /// What the daemon does at the maximum size.
    private func rotate() throws {
        #expect(rename(file, file + ".1") == 0)
        try write([], to: file)
    }

    private func log(_ arguments: String...) async throws -> CommandResult {
        try await CommandRun(arguments: ["log"] + arguments, home: home).run()
    }

    @Test("all entries are written in order, those of the rotated file first, or the last ones")
    func order() async throws {
        try write((1...3).map(Self.line), to: file + ".1")
        try write((4...6).map(Self.line), to: file)
        let all = try await log()
        #expect(all.status == 0 && all.errors.isEmpty)
        #expect(all.text == (1...6).map { Self.line($0) + "\n" }.joined())
        #expect(try await log("--lines", "4").text == (3...6).map { Self.line($0) + "\n" }.joined())
        #expect(try await log("--lines", "0").text.isEmpty)
        #expect(try await log("--lines", "100").text == all.text)
    }

    @Test("one of the two files is enough, and an empty log is empty")
    func parts() async throws {
        try write([], to: file)
        let empty = try await log()
        #expect(empty.status == 0 && empty.output.isEmpty)
        try write([Self.line(1)], to: file + ".1")
        #expect(try await log().text == Self.line(1) + "\n")
        unlink(file)
        #expect(try await log().text == Self.line(1) + "\n")
    }

    @Test("no log, what is no file, a line without end and wrong usage are told")
    func refusals() async throws {
        for arguments in [[], ["--follow"], ["--json"]] {
            let result = try await CommandRun(arguments: ["log"] + arguments, home: home).run()
            #expect(result.status == 3)
            #expect(result.errors.hasPrefix("error: there is no log in \(home.layout.dataDirectory)\nhint: "))
            #expect(result.errors.contains("journalctl --user -u touchstoned"))
        }
        for arguments in [
            ["--lines", "-1"], ["--lines=-1"], ["--lines", "x"], ["--lines", "1", "--lines", "2"],
        ] {
            #expect(try await CommandRun(arguments: ["log"] + arguments, home: home).run().status == 64)
        }
        mkfifo(file, 0o600)
        let pipe = try await log()
        #expect(pipe.status == 9 && pipe.errors.contains("is not a file"))
        unlink(file)
        try String(repeating: "x", count: (1 << 20) + 1).write(
            toFile: file,
            atomically: false,
            encoding: .utf8
        )
        let long = try await log()
        #expect(long.status == 9 && long.errors.contains("a line of more than 1048576 bytes"), "\(long)")
    }

    @Test("text of others moves no cursor and stays one line, and JSON has the values as they were")
    func foreignText() async throws {
        try write(
            [
                #"2026-11-28T00:00:00.000001Z error audit program="/tmp/\u{1b}[2J\n\"x\" a=\\" uid="0""#,
                "2026-11-28T00:00:00.000002Z notice ended", "raw \u{1B}[2J\u{202E}", #"a b c d="open"#,
                #"a b c d="x"e="y""#, #"a b c d="\q""#, "",
            ],
            to: file
        )
        let text = try await log()
        #expect(text.text.contains("raw \\u{1b}[2J\\u{202e}\n"))
        #expect(!text.output.contains(0x1B))
        let json = try await log("--json")
        let lines = json.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        #expect(lines.count == 7 && !json.output.contains(0x1B))
        let objects = try lines.map { line in
            try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        #expect(objects[0]["time"] as? String == "2026-11-28T00:00:00.000001Z")
        #expect(objects[0]["level"] as? String == "error" && objects[0]["message"] as? String == "audit")
        #expect(
            objects[0]["fields"] as? [String: String] == [
                "program": "/tmp/\u{1B}[2J\n\"x\" a=\\", "uid": "0",
            ]
        )
        #expect(objects[1]["message"] as? String == "ended")
        #expect(objects[1]["fields"] as? [String: String] == [:])
        // What the daemon did not write.
        for index in 2...6 { #expect(objects[index].keys.sorted() == ["line"] || index == 2) }
        #expect(objects[3]["line"] as? String == #"a b c d="open"#)
        #expect(objects[6]["line"] as? String == "")
    }

    /// A `log --follow` that writes to a terminal.
    private func following(_ terminal: PseudoTerminal, _ options: String...) throws -> StartedCommand {
        var run = CommandRun(arguments: ["log", "-f"] + options, home: home)
        run.terminal = terminal
        run.drawsOnTerminal = true
        return try run.start()
    }

    @Test(
        "--follow goes on across rotations and an emptied file, and ends as the interrupt key ends programs"
    )
    func follow() async throws {
        try write((1...12).map(Self.line), to: file)
        let terminal = try PseudoTerminal(columns: 200)
        let started = try following(terminal)
        try await terminal.wait(for: "number=\"12\"")
        #expect(!terminal.text.contains("number=\"2\"") && terminal.text.contains("number=\"3\""))
        try append(Self.line(13))
        try await terminal.wait(for: "number=\"13\"")
        try rotate()
        try append(Self.line(14))
        try await terminal.wait(for: "number=\"14\"")
        // Twice before the program looks: what is in the middle is not lost.
        kill(started.processID, SIGSTOP)
        try append(Self.line(15))
        try rotate()
        try append(Self.line(16))
        try rotate()
        try append(Self.line(17))
        kill(started.processID, SIGCONT)
        for number in 15...17 { try await terminal.wait(for: "number=\"\(number)\"") }
        // Half an entry, and its rest.
        let handle = try #require(FileHandle(forWritingAtPath: file))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("half ".utf8))
        try handle.write(contentsOf: Data("entry\n".utf8))
        try await terminal.wait(for: "half entry")
        try handle.truncate(atOffset: 0)
        try handle.close()
        try append("first again")
        try await terminal.wait(for: "first again")
        terminal.press(.interrupt)
        #expect(await started.result().signal == SIGINT)
        for number in 12...17 {
            let count = String(decoding: terminal.octets, as: UTF8.self).ranges(of: "number=\"\(number)\"")
                .count
            #expect(count == 1, "\(number)")
        }
    }

    @Test("--follow finds a file that is removed and made again, and ends when the directory goes")
    func replaced() async throws {
        try write([Self.line(1), Self.line(2)], to: file)
        let terminal = try PseudoTerminal(columns: 200)
        let started = try following(terminal, "--lines", "1", "--json")
        try await terminal.wait(for: #""number":"2"}}"#)
        #expect(!terminal.text.contains(#""number":"1""#))
        unlink(file)
        try write([Self.line(3)], to: file)
        try await terminal.wait(for: #""number":"3"}}"#)
        #expect(rename(home.layout.dataDirectory, home.layout.dataDirectory + "-away") == 0)
        #expect(await started.result().status == 1)
        try await terminal.wait(for: "was removed or moved, and the log with it")
    }

    private static var canLimit: Bool { geteuid() == 0 && access("/usr/bin/unshare", X_OK) == 0 }

    @Test(
        "--follow works where the kernel gives the user no more watches",
        .enabled(if: canLimit, "needs root and unshare")
    )
    func noWatch() async throws {
        try write([Self.line(1)], to: file)
        let terminal = try PseudoTerminal(columns: 200)
        let limit = "echo 0 > /proc/sys/user/max_inotify_instances && exec \"$0\" log -f"
        var run = CommandRun("-Ur", "/bin/sh", "-c", limit, Programs.touchstone, home: home)
        run.program = "/usr/bin/unshare"
        run.terminal = terminal
        run.drawsOnTerminal = true
        let started = try run.start()
        try await terminal.wait(for: "number=\"1\"")
        try append(Self.line(2))
        try await terminal.wait(for: "number=\"2\"")
        try rotate()
        try append(Self.line(3))
        try await terminal.wait(for: "number=\"3\"")
        #expect(rename(home.layout.dataDirectory, home.layout.dataDirectory + "-away") == 0)
        #expect(await started.result().status == 1)
        try await terminal.wait(for: "was removed or moved, and the log with it")
    }

    @Test("--follow ends when nobody reads it any more")
    func reader() async throws {
        try write([Self.line(1)], to: file)
        var run = CommandRun("-c", "\"$0\" log -f | head -n 1", Programs.touchstone, home: home)
        run.program = "/bin/sh"
        let result = try await run.run()
        #expect(result.status == 0 && result.text == Self.line(1) + "\n")
    }

    @Test("the stop key stops --follow, and fg goes on with what was written meanwhile")
    func stopKey() async throws {
        try write([Self.line(1)], to: file)
        let terminal = try PseudoTerminal(columns: 200)
        let shell = try await ChildProcess.start(
            "/bin/sh",
            ["-c", "exec 0<>\(terminal.name) 1>&0 2>&0; exec /bin/bash --norc --noprofile -i"],
            environment: [
                "TERM": "dumb", "PATH": "/usr/bin:/bin", "PS1": "ready> ", "HISTFILE": "",
                "TOUCHSTONE_HOME": home.path, "TOUCHSTONE_DAEMON": "/nonexistent",
            ]
        )
        defer { shell.stop() }
        try await terminal.wait(for: "ready>")
        terminal.press(.text("\(Programs.touchstone) log -f"), .enter)
        try await terminal.wait(for: "number=\"1\"")
        try append(Self.line(2))
        try await terminal.wait(for: "number=\"2\"")
        terminal.press(.text("\u{1A}"))
        try await terminal.wait(for: "Stopped")
        try append(Self.line(3))
        terminal.press(.text("echo still he''re"), .enter)
        try await terminal.wait(for: "still here")
        #expect(!terminal.text.contains("number=\"3\""))
        terminal.press(.text("fg"), .enter)
        try await terminal.wait(for: "number=\"3\"")
        terminal.press(.interrupt)
        terminal.press(.text("echo sta''tus=$?"), .enter)
        try await terminal.wait(for: "status=130")
    }
}

@Suite(
    "touchstone log of a real daemon",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct RealLogTests {
    @Test("what the daemon writes is read back entry by entry, and no name of a secret is in it")
    func real() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(
            try await keychain.run("set", "very-private", "--require", "passcode", input: "v").status == 0
        )
        #expect(try await keychain.run("get", "very-private").text == "v")
        let text = try await keychain.run("log")
        #expect(text.status == 0 && text.errors.isEmpty, "\(text.errors)")
        #expect(text.text.contains(" notice listening ") && text.text.contains("event=\"keybagCreated\""))
        #expect(!text.text.contains("very-private"))
        let json = try await keychain.run("log", "--json")
        let objects = try json.text.split(separator: "\n").map { line in
            try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        #expect(objects.count == text.text.split(separator: "\n").count)
        #expect(objects.allSatisfy { $0["fields"] is [String: String] })
        let events = objects.compactMap { ($0["fields"] as? [String: String])?["event"] }
        #expect(events.contains("keybagCreated") && events.contains("authenticationSucceeded"))
        // It is shown while the keychain is locked and the daemon is away, and starts none.
        try keychain.stop(with: SIGTERM)
        let after = try await keychain.run("log", "--lines", "1")
        #expect(after.text.contains(" notice ended"), "\(after)")
    }

    @Test("a daemon that logs elsewhere is told")
    func elsewhere() async throws {
        let keychain = try await RealKeychain.ready()
        let file = keychain.home.layout.dataDirectory + "/daemon.log"
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.contains(" listening ") })
        let former = line.replacing("pid=\"", with: "pid=\"9999999")
        try (former + "\n").write(toFile: file, atomically: false, encoding: .utf8)
        let result = try await keychain.run("log")
        #expect(result.status == 0 && result.text == former + "\n")
        #expect(result.errors.hasPrefix("The daemon that runs now, process "), "\(result.errors)")
        #expect(result.errors.contains("journalctl --user -u touchstoned"))
    }
}
