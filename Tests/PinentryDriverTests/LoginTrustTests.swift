import Glibc
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import PinentryDriver

/// Which terminals are one channel under the setting `trust`, with logins as the kernel knows them.
@Suite(
    "Terminals of one login",
    .enabled(if: BegunLogin.isPossible, Comment(rawValue: BegunLogin.needs))
)
struct LoginTrustTests {
    private static let owner: UInt32 = 0
    private static let another: UInt32 = 61_960

    /// The channels of a program at a shell, and of one in a new pane of that shell's login.
    private func channels(_ jobs: Jobs, _ trust: TerminalTrust) async throws -> [PromptChannel] {
        let pane = try PseudoTerminal()
        let first = try await jobs.run("JOB")
        try await jobs.wait(for: first) { $0.channel != nil }
        let here = try #require(jobs.standing(of: first, trust: trust, owner: Self.owner).channel)
        let again = jobs.standing(of: first, trust: trust, owner: Self.owner).channel
        #expect(again == here, "the same terminal stays the same channel")
        jobs.terminal.press(.text("\u{1A}"))
        try await jobs.wait(for: first) { $0 == .background }
        let second = try await jobs.run(in: pane)
        let there = try await Deadline.wait(for: "the program in the pane") {
            jobs.standing(of: second, to: pane, trust: trust, owner: Self.owner).channel
        }
        // Sharing trust does not bring a program to the foreground.
        #expect(jobs.standing(of: first, trust: trust, owner: Self.owner) == .background)
        return [here, there]
    }

    @Test("a new pane of the same login shares the channel with `session`, and has its own with `terminal`")
    func pane() async throws {
        let shared = try await channels(try await Jobs(login: Self.owner), .session)
        #expect(shared[0] == shared[1] && shared[0].identity.hasPrefix("terminals of login "), "\(shared)")
        let apart = try await channels(try await Jobs(login: Self.owner), .terminal)
        #expect(apart[0] != apart[1] && apart.allSatisfy { $0.identity.contains(" session ") }, "\(apart)")
    }

    @Test("another login of the same user is another channel")
    func otherLogin() async throws {
        let first = try await channels(try await Jobs(login: Self.owner), .session)
        let second = try await channels(try await Jobs(login: Self.owner), .session)
        #expect(Set(first).isDisjoint(with: second), "\(first) \(second)")
    }

    @Test(
        "without a login, and in another user's, each terminal has its own channel",
        arguments: [nil, another]
    )
    func noLogin(login: UInt32?) async throws {
        // Without a login of this process either: then it is not inherited.
        guard login != nil || KernelLogin.number(of: getpid(), user: Self.owner) == nil else { return }
        let found = try await channels(try await Jobs(login: login), .session)
        #expect(found[0] != found[1] && found.allSatisfy { $0.identity.contains(" session ") }, "\(found)")
    }

    @Test("a terminal that is nobody's, and a client that has ended, get nothing from the login")
    func nobody() async throws {
        let jobs = try await Jobs(login: Self.owner)
        let client = try await jobs.run("JOB")
        try await jobs.wait(for: client) { $0.channel != nil }
        let terminal = try PseudoTerminal()
        let channel = jobs.standing(of: client, to: terminal, trust: .session, owner: Self.owner).channel
        #expect(channel?.identity.contains("of nobody") == true, "\(String(describing: channel))")
        let later = PromptClient(process: client.process, start: client.start + 1)
        #expect(jobs.standing(of: later, trust: .session, owner: Self.owner) == .background)
    }

    @Test("a prompt reports the login's channel")
    func prompt() async throws {
        let jobs = try await Jobs(login: Self.owner)
        let client = try await jobs.run("JOB")
        try await jobs.wait(for: client) { $0.channel != nil }
        let scripted = try ScriptedPinentry(["GETPIN": "printf 'D a\\nOK\\n'"])
        let origin = PromptOrigin(terminal: jobs.terminal.name, terminalType: "dumb", client: client)
        let login = KernelLogin.number(of: client.process, user: Self.owner)
        for (trust, expected) in [
            (TerminalTrust.session, TerminalTrust.session.sharedChannel(ofLogin: login)),
            (.terminal, jobs.standing(of: client).channel),
        ] {
            let prompter = PinentryPrompter(program: .testing(scripted.path), user: Self.owner, trust: trust)
            let expected = try #require(expected)
            #expect(try await prompter.checkCanPrompt(at: origin) == [expected])
            let shown = Guarded<[PromptChannel?]>([])
            _ = try await Answer(prompter, .unlock(), at: origin) { found in
                shown.withLock { $0.append(found) }
            }
            #expect(shown.withLock { $0 } == [expected])
        }
    }
}
