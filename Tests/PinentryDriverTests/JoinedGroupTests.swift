import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@testable import PinentryDriver

/// Programs of a window's session that join its foreground group with setpgid(2), to draw over what the user does there.
@Suite("A program that joined the foreground group")
struct JoinedGroupTests {
    /// How the program was started.
    enum Start: String, CaseIterable, Sendable {
        /// Its parent has ended, as a service that an installer left behind.
        case orphan = "(JOB &)"
        /// A job of the shell.
        case job = "JOB &"
        /// A child of a job.
        case childOfJob = "sh -c \"JOB; true\" &"
    }

    /// What is in the foreground.
    enum Foreground: String, CaseIterable, Sendable {
        case program = "JOB"
        case pipeline = "JOB | cat"
        /// A pipeline whose leader has ended.
        case leaderless = "true | JOB"
        case script = "sh -c \"JOB; true\""
    }

    @Test(
        "is in the background, and the job itself stays in the foreground",
        arguments: Start.allCases,
        Foreground.allCases
    )
    func joined(start: Start, foreground: Foreground) async throws {
        let jobs = try await Jobs()
        let joiner = try await jobs.runJoiner(start.rawValue)
        #expect(jobs.standing(of: joiner.client) == .background)
        let client = try await jobs.run(foreground.rawValue)
        try await jobs.wait(for: client) { $0.channel != nil }
        let group = try #require(ProcessStat(of: client.process)).processGroup
        if foreground == .leaderless {
            try await Deadline.wait(for: "the end of the leader") {
                ProcessStat(of: group) == nil ? true : nil
            }
        }
        try await joiner.join(group)
        #expect(jobs.standing(of: joiner.client) == .background)
        #expect(jobs.standing(of: client).channel != nil)
    }

    @Test("an orphan that joined the shell's own group at its prompt is in the background")
    func shell() async throws {
        let jobs = try await Jobs()
        let joiner = try await jobs.runJoiner(Start.orphan.rawValue)
        let stat = try #require(ProcessStat(of: joiner.client.process))
        try await joiner.join(stat.session)
        try await Deadline.wait(for: "the shell's prompt") {
            ProcessStat(of: stat.session)?.foregroundGroup == stat.session ? true : nil
        }
        #expect(jobs.standing(of: joiner.client) == .background)
        let prompter = PinentryPrompter("/usr/bin/pinentry-tty")
        let origin = PromptOrigin(terminal: jobs.terminal.name, terminalType: "dumb", client: joiner.client)
        await #expect(throws: PromptError(.inBackground)) {
            try await Answer(prompter, .unlock(), at: origin)
        }
        // A command substitution is a descendant of the shell, in its group.
        let client = try await jobs.run("x=$(JOB)")
        try await jobs.wait(for: client) { $0.channel != nil }
    }
}
