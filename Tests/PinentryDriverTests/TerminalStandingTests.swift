import Glibc
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import PinentryDriver

/// A shell with job control on its own terminal, and its jobs.
private final class Jobs {
    let terminal: PseudoTerminal
    private let directory: TemporaryDirectory
    private let program: String
    private let shell: ChildProcess
    private var started: [Int32] = []
    private var count = 0

    /// Starts bash as the terminal's session leader.
    init() async throws {
        terminal = try PseudoTerminal()
        directory = try TemporaryDirectory()
        program = try directory.write(
            "#!/bin/sh\necho $$ > \"$1.new\"\nmv \"$1.new\" \"$1\"\nexec sleep 600\n",
            to: "job"
        )
        shell = try await ChildProcess.start(
            "/bin/sh",
            ["-c", "exec 0<>\(terminal.name) 1>&0 2>&0; exec /bin/bash --norc --noprofile -i"],
            environment: ["TERM": "dumb", "PATH": "/usr/bin:/bin", "PS1": "ready> ", "HISTFILE": ""]
        )
        try await terminal.wait(for: "ready>")
    }

    deinit {
        for process in started { kill(process, SIGKILL) }
    }

    /// Types a command line in which `JOB` stands for a program that reports its process ID and waits.
    ///
    /// - Returns: The program.
    func run(_ line: String) async throws -> PromptClient {
        count += 1
        let file = directory.appending("pid\(count)")
        terminal.press(.text(line.replacing("JOB", with: "sh \(program) \(file)")), .enter)
        let client: PromptClient = try await Deadline.wait(for: "the job") {
            guard let octets = contents(of: file), let number = Int32(octets),
                let stat = ProcessStat(of: number)
            else { return nil }
            return PromptClient(process: number, start: stat.start)
        }
        started.append(client.process)
        return client
    }

    /// Waits for a standing: a shell changes the terminal's foreground group with a delay.
    func wait(for client: PromptClient, until isWanted: (TerminalStanding) -> Bool) async throws {
        try await Deadline.wait(for: "the standing of \(client)") {
            isWanted(standing(of: client)) ? true : nil
        }
    }

    /// The client's standing on this terminal, or on another one.
    func standing(of client: PromptClient, to other: PseudoTerminal? = nil) -> TerminalStanding {
        var status = stat()
        guard unsafe stat((other ?? terminal).name, &status) == 0 else { return .background }
        return TerminalStanding(of: client, to: status, daemon: 0)
    }

    private func contents(of path: String) -> String? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var octets = [UInt8](repeating: 0, count: 32)
        let count = unsafe read(file, &octets, octets.count)
        return String(decoding: octets[..<max(0, count)].prefix { $0 > 0x20 }, as: UTF8.self)
    }
}

@Suite("Foreground and background on a terminal")
struct TerminalStandingTests {
    @Test(
        "a job that the shell waits for is in the foreground",
        arguments: [
            "JOB", "JOB | cat", "echo | JOB", "(JOB)", "sh -c \"JOB; true\"", "x=$(JOB)", "env JOB",
            "timeout 600 JOB", "setsid -w JOB", "script -qc \"JOB\" /dev/null", "bash -ic \"JOB; true\"",
        ]
    )
    func foreground(line: String) async throws {
        let jobs = try await Jobs()
        let client = try await jobs.run(line)
        // The shell may not have changed the foreground group yet.
        if line.hasPrefix("script") {
            // On script(1)'s own terminal; on the outer one the shell waits for script.
            return try await jobs.wait(for: client) { $0.channel != nil }
        }
        try await jobs.wait(for: client) { $0.channel?.identity.contains("session") == true }
    }

    @Test(
        "a job that the shell does not wait for is in the background",
        arguments: [
            "JOB &", "JOB > /dev/null &", "(JOB &)", "sh -c \"JOB; true\" &", "JOB | cat &",
            "nohup JOB > /dev/null &",
            "setsid JOB &", "setsid -w JOB &", "setsid -f JOB",
        ]
    )
    func background(line: String) async throws {
        let jobs = try await Jobs()
        let client = try await jobs.run(line)
        try await jobs.wait(for: client) { $0 == .background }
    }

    @Test("fg, bg and the stop key change the standing; another window or shell is another channel")
    func changes() async throws {
        let jobs = try await Jobs()
        let client = try await jobs.run("JOB")
        try await jobs.wait(for: client) { $0.channel != nil }
        let channel = jobs.standing(of: client).channel
        jobs.terminal.press(.text("\u{1A}"))
        try await jobs.wait(for: client) { $0 == .background }
        jobs.terminal.press(.text("fg"), .enter)
        try await jobs.wait(for: client) { $0.channel == channel }
        jobs.terminal.press(.text("\u{1A}"))
        try await jobs.wait(for: client) { $0 == .background }
        jobs.terminal.press(.text("bg"), .enter)
        let second = try await jobs.run("JOB")
        try await jobs.wait(for: second) { $0.channel == channel }
        #expect(jobs.standing(of: client) == .background)

        let others = try await Jobs()
        let third = try await others.run("JOB")
        try await others.wait(for: third) { $0.channel != nil }
        #expect(others.standing(of: third).channel != channel)
        // Another session's terminal, whose shell reads from it.
        #expect(jobs.standing(of: third) == .background)
        #expect(others.standing(of: second) == .background)
    }

    @Test("a terminal without a session has a channel of its own")
    func nobody() async throws {
        let jobs = try await Jobs()
        let client = try await jobs.run("JOB")
        let first = try PseudoTerminal()
        let channel = jobs.standing(of: client, to: first).channel
        #expect(channel?.identity.contains("of nobody") == true)
        #expect(jobs.standing(of: client, to: first).channel == channel)
        let second = try PseudoTerminal()
        #expect(jobs.standing(of: client, to: second).channel != channel)
    }

    @Test("the client's standing is checked for each prompt: in the background it gets none")
    func boxes() async throws {
        let jobs = try await Jobs()
        let client = try await jobs.run("JOB")
        try await jobs.wait(for: client) { $0.channel != nil }
        let scripted = try ScriptedPinentry(["GETPIN": "printf 'D a\\nOK\\n'"])
        let prompter = PinentryPrompter(program: .testing(scripted.path))
        let origin = PromptOrigin(terminal: jobs.terminal.name, terminalType: "dumb", client: client)
        let channel = jobs.standing(of: client).channel
        #expect(try await prompter.checkCanPrompt(at: origin) == Set([channel].compactMap { $0 }))
        let shown = Guarded<[PromptChannel?]>([])
        let answer = try await Answer(prompter, .unlock(), at: origin) { found in
            shown.withLock { $0.append(found) }
        }
        #expect(answer == .entered("a") && shown.withLock { $0 } == [channel])

        jobs.terminal.press(.text("\u{1A}"))
        try await jobs.wait(for: client) { $0 == .background }
        let told = scripted.received
        await #expect(throws: PromptError(.inBackground)) { try await prompter.checkCanPrompt(at: origin) }
        for prompter in [prompter, prompter.prepared(at: origin)] as [any SecretPrompter] {
            await #expect(throws: PromptError(.inBackground)) {
                try await Answer(prompter, .unlock(), at: origin)
            }
        }
        #expect(scripted.received == told, "no program was told of the terminal")
    }

    @Test("a client that cannot be identified reliably has no channel")
    func unknown() async throws {
        let jobs = try await Jobs()
        let client = try await jobs.run("JOB")
        let later = PromptClient(process: client.process, start: client.start + 1)
        #expect(jobs.standing(of: later) == .foreground(nil))
        #expect(jobs.standing(of: PromptClient(process: 0, start: 0)) == .foreground(nil))
        #expect(jobs.standing(of: PromptClient(process: client.process, start: 0)) == .foreground(nil))
    }

    @Test("a line of /proc/PID/stat is parsed, whatever the program's name")
    func parsing() throws {
        let rest = "S 1 22 333 34816 4444 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 8 9"
        for name in ["(sh)", "(a) 1 2)", "(x\n()", "()"] {
            let stat = try #require(ProcessStat("77 \(name) \(rest)"))
            #expect(stat.parent == 1 && stat.processGroup == 22 && stat.session == 333)
            #expect(stat.terminal == 34816 && stat.foregroundGroup == 4444 && stat.start == 987_654)
        }
        #expect(ProcessStat("") == nil && ProcessStat("77 (sh) S 1 2") == nil && ProcessStat("77 (sh") == nil)
    }

    @Test("a display's channel is its socket; a remote or missing display has none")
    func displays() throws {
        let directory = try TemporaryDirectory()
        func channel(_ origin: PromptOrigin) -> PromptChannel? {
            DisplayChannel.of(PromptPlace(origin), runtimeDirectory: directory.path)
        }
        #expect(channel(PromptOrigin()) == nil)
        #expect(channel(PromptOrigin(display: "localhost:10.0")) == nil)
        #expect(channel(PromptOrigin(display: ":60999")) == nil)
        #expect(channel(PromptOrigin(waylandDisplay: "wayland-9")) == nil)
        let first = try BoundSocket(directory.appending("wayland-9"))
        let seen = channel(PromptOrigin(waylandDisplay: "wayland-9"))
        #expect(seen != nil && channel(PromptOrigin(waylandDisplay: "wayland-9")) == seen)
        #expect(channel(PromptOrigin(display: ":60999", waylandDisplay: "wayland-9")) == nil)
        first.remove()
        let second = try BoundSocket(directory.appending("wayland-9"))
        let other = channel(PromptOrigin(waylandDisplay: "wayland-9"))
        #expect(other != nil && other != seen)
        second.remove()
    }
}

/// A socket bound to a path.
private struct BoundSocket {
    private let path: String
    private let descriptor: CInt

    init(_ path: String) throws {
        self.path = path
        descriptor = try UnixSocket.bind(to: path)
    }

    func remove() {
        close(descriptor)
        unlink(path)
    }
}
