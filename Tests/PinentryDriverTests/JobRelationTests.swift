import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@testable import PinentryDriver

/// How a requester is related to the job that has the terminal, and whether it may have a prompt there.
@Suite("A requester's relation to the foreground job")
struct JobRelationTests {
    /// What the requester is.
    enum Relation: CaseIterable, Sendable {
        /// The program that the shell started.
        case leader
        /// Another program that the leader became.
        case execOfLeader
        /// A child of the leader.
        case descendantOfLeader
        /// A job of the shell that joined the shell's own group; the shell is at its prompt.
        case joinedShell
        /// A child of a job, which joined the shell's own group.
        case childJoinedShell
        /// An older job of the shell that joined another job's group.
        case joinedJob
        /// A job that is younger than the job whose group it joined, which the shell's `fg` makes possible.
        case youngerJoinedJob
        /// A process that the leader started with `CLONE_PARENT`, so that its parent is the shell.
        case siblingOfLeader
        /// A process that another job started with `CLONE_PARENT` before the job whose group it joined.
        case olderSibling
        /// The same, after that job.
        case youngerSibling
    }

    /// A line of the matrix: whether the requester may have a prompt.
    struct Line: Sendable {
        let relation: Relation
        /// With the job that it belongs to, or whose group it joined, in the foreground.
        let inForeground: Bool
        /// With that job in the background.
        let inBackground: Bool

        init(_ relation: Relation, _ inForeground: Bool, _ inBackground: Bool) {
            (self.relation, self.inForeground, self.inBackground) = (relation, inForeground, inBackground)
        }
    }

    /// The last two cannot be told from a later part of a pipeline, such as zsh starts in a loop: docs/THREATS.md promises
    /// nothing about them.
    static let matrix = [
        Line(.leader, true, false),
        Line(.execOfLeader, true, false),
        Line(.descendantOfLeader, true, false),
        Line(.joinedShell, false, false),
        Line(.childJoinedShell, false, false),
        Line(.joinedJob, false, false),
        Line(.siblingOfLeader, true, false),
        Line(.olderSibling, false, false),
        Line(.youngerJoinedJob, true, false),
        Line(.youngerSibling, true, false),
    ]

    @Test("every relation is in the matrix")
    func whole() {
        #expect(Set(Self.matrix.map(\.relation)) == Set(Relation.allCases))
    }

    @Test("decides whether it may have a prompt", arguments: matrix, [true, false])
    func standing(line: Line, isForeground: Bool) async throws {
        let jobs = try await Jobs()
        let client = try await requester(line.relation, isForeground, in: jobs)
        let mayPrompt = isForeground ? line.inForeground : line.inBackground
        // The shell changes the terminal's foreground group with a delay.
        try await jobs.wait(for: client) { ($0 != .background) == mayPrompt }
        let scripted = try ScriptedPinentry(["GETPIN": "printf 'D a\\nOK\\n'"])
        let prompter = PinentryPrompter(program: .testing(scripted.path))
        let origin = PromptOrigin(terminal: jobs.terminal.name, terminalType: "dumb", client: client)
        guard mayPrompt else {
            await #expect(throws: PromptError(.inBackground)) {
                try await Answer(prompter, .unlock(), at: origin)
            }
            return
        }
        #expect(try await Answer(prompter, .unlock(), at: origin) == .entered("a"))
    }

    /// Makes a requester, and the job that it is related to, in the foreground or the background.
    private func requester(
        _ relation: Relation,
        _ isForeground: Bool,
        in jobs: Jobs
    ) async throws -> PromptClient {
        let end = isForeground ? "" : " &"
        switch relation {
        case .leader: return try await jobs.run("JOB" + end)
        case .execOfLeader: return try await jobs.run("env JOB" + end)
        case .descendantOfLeader: return try await jobs.run("sh -c \"JOB; true\"" + end)
        case .siblingOfLeader:
            let leader = try await jobs.runJoiner("JOB" + end)
            return try await leader.sibling(in: jobs).client
        case .joinedShell, .childJoinedShell:
            let isChild = relation == .childJoinedShell
            let joiner = try await jobs.runJoiner(isChild ? "sh -c \"JOB; true\" &" : "JOB &")
            let shell = try #require(ProcessStat(of: joiner.client.process)).session
            try await joiner.join(shell)
            if isForeground {
                try await waitForEditing(of: shell, in: jobs)
            } else {
                let job = try await jobs.run("JOB")
                try await jobs.wait(for: job) { $0.channel != nil }
            }
            return joiner.client
        case .joinedJob, .olderSibling, .youngerSibling:
            var joiner = try await jobs.runJoiner("JOB &")
            if relation == .olderSibling { joiner = try await joiner.sibling(in: jobs) }
            let job = try await jobs.run("JOB" + end)
            if relation == .youngerSibling { joiner = try await joiner.sibling(in: jobs) }
            try await joiner.join(group(of: job))
            return joiner.client
        case .youngerJoinedJob:
            let job = try await jobs.run("JOB")
            try await jobs.wait(for: job) { $0.channel != nil }
            jobs.terminal.press(.text("\u{1A}"))
            try await jobs.wait(for: job) { $0 == .background }
            let joiner = try await jobs.runJoiner("JOB &")
            if isForeground {
                jobs.terminal.press(.text("fg %1"), .enter)
                try await jobs.wait(for: job) { $0.channel != nil }
            }
            try await joiner.join(group(of: job))
            return joiner.client
        }
    }

    private func group(of job: PromptClient) throws -> Int32 {
        try #require(ProcessStat(of: job.process)).processGroup
    }

    private func waitForEditing(of shell: Int32, in jobs: Jobs) async throws {
        try await Deadline.wait(for: "the shell to edit a line") {
            ProcessStat(of: shell)?.foregroundGroup == shell && !jobs.terminal.isCanonical ? true : nil
        }
    }

    @Test(
        "a substitution of the shell may have a prompt, and so may a job that joins the shell's group meanwhile"
    )
    func substitution() async throws {
        let jobs = try await Jobs()
        let joiner = try await jobs.runJoiner("JOB &")
        let shell = try #require(ProcessStat(of: joiner.client.process)).session
        try await joiner.join(shell)
        try await waitForEditing(of: shell, in: jobs)
        #expect(jobs.standing(of: joiner.client) == .background)
        let client = try await jobs.run("x=$(JOB)")
        try await jobs.wait(for: client) { $0.channel != nil }
        // It cannot be told from a part of the substitution: docs/THREATS.md promises nothing about it.
        #expect(jobs.standing(of: joiner.client).channel != nil)
    }
}
