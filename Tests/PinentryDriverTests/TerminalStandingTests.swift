import Glibc
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import PinentryDriver

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

    @Test("a client that has ended, or cannot be told from a later process, is in the background")
    func unknown() async throws {
        let jobs = try await Jobs()
        let client = try await jobs.run("JOB")
        let later = PromptClient(process: client.process, start: client.start + 1)
        #expect(jobs.standing(of: later) == .background)
        #expect(jobs.standing(of: PromptClient(process: 0, start: 0)) == .background)
        #expect(jobs.standing(of: PromptClient(process: client.process, start: 0)) == .background)
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
}
