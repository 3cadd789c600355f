import Glibc
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import Desk

/// Prompts that pass through a scripted agent, over the calls that the socket provides.
@Suite("Prompts shown by an agent")
struct AgentPrompterTests {
    private static let terminal = AgentRegistration.Place.terminal(
        path: "/dev/pts/7",
        session: 4711,
        start: 99
    )
    private static let graphical = AgentRegistration.Place.graphical(display: ":0", waylandDisplay: nil)
    private let roster = AgentRoster(AgentAdmission(pinentryProgram: nil, isForTests: true))

    private func desk() throws -> Desk {
        Desk(
            services: try DeskWorld().desk.services,
            limits: DeskLimits(longestRequest: Frame.longest),
            agents: roster
        )
    }

    private func asker(_ role: AskerRole) -> Asker {
        // No process has this start time: the kernel is not queried about the scripted agent's terminal.
        ClientIdentity(ownProgram: nil)
            .asker(uid: geteuid(), pid: getpid(), processStart: 0, program: nil, role: role, isStill: nil)
    }

    private func agent(_ place: AgentRegistration.Place, at desk: Desk) async throws -> Visit {
        let visit = desk.visit(by: asker(.agent))
        _ = try await visit.registerAgent(AgentRegistration(place, version: "test"))
        return visit
    }

    private let prompt = Prompt(.secret, requester: "app", heading: "Unlock", timeout: .seconds(60))
    private let origin = PromptOrigin(terminal: "/dev/pts/7", terminalType: "xterm")

    private enum End: Equatable, Sendable {
        case entered(String), confirmed, fallback(Int), cancelled, timedOut, failed(PromptError.Code)
    }

    private func ask(
        _ prompter: AgentPrompter,
        _ prompt: Prompt,
        at place: PromptOrigin? = nil,
        whenShown: @escaping @Sendable (PromptChannel?) -> Void = { _ in }
    ) async -> End {
        do throws(PromptError) {
            let answer = try await prompter.ask(prompt, at: place ?? origin) { whenShown($0()) }
            switch consume answer {
            case .entered(let secret):
                return .entered(
                    secret.withOctets { octets in
                        String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self)
                    }
                )
            case .confirmed: return .confirmed
            case .fallback(let index): return .fallback(index)
            case .cancelled: return .cancelled
            case .timedOut: return .timedOut
            }
        } catch {
            return .failed(error.code)
        }
    }

    private func answer(_ number: UInt64, _ text: String) -> AgentAnswer {
        AgentAnswer(number: number, outcome: .answered(.entered(SecretBytes(copying: Array(text.utf8)))))
    }

    private func chosen(_ fallback: Int, in number: UInt64) -> AgentAnswer {
        AgentAnswer(number: number, outcome: .answered(.fallback(fallback)))
    }

    @Test("an entered passcode is returned, and the prompt is reported on the terminal's channel")
    func typed() async throws {
        let desk = try desk()
        let agent = try await agent(Self.terminal, at: desk)
        let asked = Task { await ask(AgentPrompter(roster, patience: .ofTests), prompt) }
        let box = try await agent.nextBox()
        #expect(box.prompt == prompt)
        #expect(box.terminalType == "xterm")
        let number = box.number
        try await agent.boxIsShown(ShownBox(number, at: "a display"))
        try await agent.boxIsAnswered(answer(number, "marble"))
        #expect(await asked.value == .entered("marble"))
        let channels = try await AgentPrompter(roster, patience: .ofTests).checkCanPrompt(at: origin)
        #expect(channels == [PromptChannel("agent on /dev/pts/7 session 4711 started 99")])
        agent.end()
    }

    @Test("an answer before the prompt is shown, or of the wrong kind, fails the prompt")
    func impossibleAnswers() async throws {
        let desk = try desk()
        let agent = try await agent(Self.terminal, at: desk)
        let early = Task { await ask(AgentPrompter(roster, patience: .ofTests), prompt) }
        let first = try await agent.nextBox().number
        await #expect(throws: KeychainError(.param)) { try await agent.boxIsAnswered(answer(first, "early")) }
        #expect(await early.value == .failed(.prompterFailed))

        let touch = Prompt(.touch, requester: "app", heading: "Touch", timeout: .seconds(60))
        let touched = Task { await ask(AgentPrompter(roster, patience: .ofTests), touch) }
        let second = try await agent.nextBox().number
        try await agent.boxIsShown(ShownBox(second, at: "a display"))
        await #expect(throws: KeychainError(.param)) {
            try await agent.boxIsAnswered(answer(second, "typed"))
        }
        #expect(await touched.value == .failed(.prompterFailed))
        // A finished prompt, and one that never existed.
        let unknown = ShownBox(second + 7, at: "a display")
        await #expect(throws: KeychainError(.param)) { try await agent.boxIsShown(unknown) }
        agent.end()
    }

    @Test("a chosen fallback is one of those that the prompt has; any other number fails the prompt")
    func fallbacks() async throws {
        let desk = try desk()
        let agent = try await agent(Self.terminal, at: desk)
        for (titles, index, isOne): ([String]?, Int, Bool) in [
            (["Card", "Code"], 1, true), (["Card", "Code"], 2, false), (nil, 0, true), (nil, 1, false),
            ([], 0, false),
        ] {
            var touch = Prompt(.touch, requester: "app", heading: "Touch", timeout: .seconds(60))
            touch.fallbackTitles = titles
            touch.details = PromptDetails(title: "Bank", items: ["12 EUR"])
            let asked = Task { [touch] in await ask(AgentPrompter(roster, patience: .ofTests), touch) }
            let box = try await agent.nextBox()
            #expect(box.prompt == touch)
            let number = box.number
            try await agent.boxIsShown(ShownBox(number, at: "a display"))
            if isOne {
                try await agent.boxIsAnswered(chosen(index, in: number))
                #expect(await asked.value == .fallback(index))
            } else {
                await #expect(throws: KeychainError(.param)) {
                    try await agent.boxIsAnswered(chosen(index, in: number))
                }
                #expect(await asked.value == .failed(.prompterFailed))
            }
        }
        agent.end()
    }

    @Test("an agent that ends during a prompt dismisses it and gets no further prompt")
    func dies() async throws {
        let desk = try desk()
        let agent = try await agent(Self.terminal, at: desk)
        let asked = Task { await ask(AgentPrompter(roster, patience: .ofTests), prompt) }
        let number = try await agent.nextBox().number
        try await agent.boxIsShown(ShownBox(number, at: "a display"))
        agent.end()
        #expect(await asked.value == .failed(.dismissed))
        #expect(await ask(AgentPrompter(roster, patience: .ofTests), prompt) == .failed(.noAgent))
    }

    @Test(
        "a program on a display waits for the session's agent after the daemon's start, and no other request does"
    )
    func arrives() async throws {
        let roster = AgentRoster(
            AgentAdmission(pinentryProgram: nil, isForTests: true),
            arrival: Deadline.patience
        )
        let desk = Desk(
            services: try DeskWorld().desk.services,
            limits: DeskLimits(longestRequest: Frame.longest),
            agents: roster
        )
        let prompter = AgentPrompter(roster, patience: .ofTests)
        // At a terminal the command starts its own agent; without a place there is none to wait for.
        for place in [origin, PromptOrigin(terminal: "/dev/pts/7", display: ":0"), PromptOrigin()] {
            #expect(await ask(prompter, prompt, at: place) == .failed(.noAgent))
        }
        let asked = Task { await ask(prompter, prompt, at: PromptOrigin(display: ":0")) }
        let given = Task { await ask(prompter, prompt, at: PromptOrigin(waylandDisplay: "wayland-0")) }
        given.cancel()
        #expect(await given.value == .failed(.noAgent))
        let agent = try await agent(Self.graphical, at: desk)
        let number = try await agent.nextBox().number
        try await agent.boxIsShown(ShownBox(number, at: "a display"))
        try await agent.boxIsAnswered(answer(number, "marble"))
        #expect(await asked.value == .entered("marble"))

        let later = AgentRoster(
            AgentAdmission(pinentryProgram: nil, isForTests: true),
            arrival: .milliseconds(1)
        )
        let late = await ask(
            AgentPrompter(later, patience: .ofTests),
            prompt,
            at: PromptOrigin(display: ":0")
        )
        #expect(late == .failed(.noAgent))
    }

    @Test("a prompt whose agent ends before showing it goes to the next agent, if any")
    func goesEarly() async throws {
        let desk = try desk()
        let first = try await agent(Self.terminal, at: desk)
        let last = try await agent(Self.terminal, at: desk)
        let asked = Task { await ask(AgentPrompter(roster, patience: .ofTests), prompt) }
        // The last registered agent gets the prompt.
        _ = try await last.nextBox().number
        last.end()
        let number = try await first.nextBox().number
        try await first.boxIsShown(ShownBox(number, at: "a display"))
        try await first.boxIsAnswered(answer(number, "marble"))
        #expect(await asked.value == .entered("marble"))

        let secret = SecretBytes(copying: Array("code".utf8))
        let shown = Task { [prompt, origin, roster] in
            do throws(PromptError) {
                let prompter = AgentPrompter(roster, patience: .ofTests)
                _ = try await prompter.show(secret.copy(), in: prompt, at: origin)
                return nil as PromptError.Code?
            } catch { return error.code }
        }
        _ = try await first.nextBox().number
        first.end()
        #expect(await shown.value == .noAgent)
    }

    /// What an agent does when it is asked whether it still shows the prompt.
    enum Reaction: CaseIterable, Sendable {
        case confirms, confirmsTwice, isStopped, neverAsks, answersInstead, disconnects
    }

    @Test(
        "a match counts only if the agent confirms in time that it shows the prompt",
        arguments: Reaction.allCases
    )
    func confirmation(reaction: Reaction) async throws {
        let desk = try desk()
        let agent = try await agent(Self.terminal, at: desk)
        let touch = Prompt(.touch, requester: "app", heading: "Touch", timeout: .seconds(60))
        var patience = AgentPrompter.Patience.ofTests
        if reaction == .isStopped || reaction == .neverAsks { patience.confirmed = .milliseconds(50) }
        let prompter = AgentPrompter(roster, patience: patience)
        #expect(await !prompter.stillShows(at: origin), "nothing is shown yet")
        let asked = Task { await ask(prompter, touch) }
        let box = BoxNumber(try await agent.nextBox().number)
        let reacting = Task {
            if reaction == .neverAsks { return }
            while true {
                try await agent.boxIsChecked(box)
                switch reaction {
                case .confirms, .confirmsTwice: try await agent.boxIsShown(ShownBox(box.number, at: nil))
                case .answersInstead:
                    try await agent.boxIsAnswered(
                        AgentAnswer(number: box.number, outcome: .answered(.cancelled))
                    )
                case .disconnects: agent.end()
                case .isStopped, .neverAsks: return
                }
            }
        }
        if reaction == .confirms {
            // A match may come while the next prompt is drawn.
            async let soon = prompter.stillShows(at: origin)
            try await agent.boxIsShown(ShownBox(box.number, at: nil))
            #expect(await soon)
        }
        try await agent.boxIsShown(ShownBox(box.number, at: nil))
        for _ in 0..<(reaction == .confirmsTwice ? 2 : 1) {
            let isShown = await prompter.stillShows(at: origin)
            #expect(isShown == (reaction == .confirms || reaction == .confirmsTwice))
        }
        switch reaction {
        case .confirms, .confirmsTwice:
            try await agent.boxIsAnswered(AgentAnswer(number: box.number, outcome: .answered(.cancelled)))
            #expect(await asked.value == .cancelled)
            // The open call ends with the prompt.
            await #expect(throws: KeychainError.self) { try await reacting.value }
        case .answersInstead: #expect(await asked.value == .cancelled)
        case .disconnects: #expect(await asked.value == .failed(.dismissed))
        case .isStopped, .neverAsks:
            #expect(await asked.value == .failed(.prompterFailed))
            await #expect(throws: KeychainError(.badReq)) { _ = try await agent.nextBox() }
        }
        agent.end()
        _ = await reacting.result
    }

    @Test("a cancelled prompt is withdrawn through the open call, and ends when the agent confirms")
    func cancelled() async throws {
        let desk = try desk()
        let agent = try await agent(Self.terminal, at: desk)
        let asked = Task { await ask(AgentPrompter(roster, patience: .ofTests), prompt) }
        let number = try await agent.nextBox().number
        try await agent.boxIsShown(ShownBox(number, at: "a display"))
        let gone = Task { try await agent.boxIsUnwanted(BoxNumber(number)) }
        asked.cancel()
        try await gone.value
        try await agent.boxIsAnswered(AgentAnswer(number: number, outcome: .failed(PromptError(.dismissed))))
        #expect(await asked.value == .failed(.dismissed))
        agent.end()
    }

    @Test("an agent that does not show or does not withdraw a prompt gets no further one")
    func stopped() async throws {
        let patience = AgentPrompter.Patience(
            shown: .milliseconds(300),
            overtime: .seconds(60),
            takenAway: .milliseconds(300)
        )
        let desk = try desk()
        let silent = try await agent(Self.terminal, at: desk)
        #expect(await ask(AgentPrompter(roster, patience: patience), prompt) == .failed(.prompterFailed))
        #expect(await ask(AgentPrompter(roster, patience: .ofTests), prompt) == .failed(.noAgent))
        silent.end()

        let stubborn = try await agent(Self.terminal, at: desk)
        let slow = AgentPrompter.Patience(
            shown: .seconds(60),
            overtime: .seconds(60),
            takenAway: .milliseconds(300)
        )
        let asked = Task { await ask(AgentPrompter(roster, patience: slow), prompt) }
        let number = try await stubborn.nextBox().number
        try await stubborn.boxIsShown(ShownBox(number, at: "a display"))
        asked.cancel()
        #expect(await asked.value == .failed(.dismissed))
        #expect(await ask(AgentPrompter(roster, patience: .ofTests), prompt) == .failed(.noAgent))
        stubborn.end()
    }

    @Test("a queued prompt has its whole time from its turn on")
    func waitsForTurn() async throws {
        let patience = AgentPrompter.Patience(
            shown: .milliseconds(400),
            overtime: .seconds(90),
            takenAway: .seconds(90)
        )
        let desk = try desk()
        let agent = try await agent(Self.terminal, at: desk)
        let first = Task { await ask(AgentPrompter(roster, patience: .ofTests), prompt) }
        let number = try await agent.nextBox().number
        try await agent.boxIsShown(ShownBox(number, at: "a display"))
        let second = Task { await ask(AgentPrompter(roster, patience: patience), prompt) }
        // A user who takes five times as long as the agent may.
        try await Task.sleep(for: .seconds(2))
        try await agent.boxIsAnswered(answer(number, "marble"))
        #expect(await first.value == .entered("marble"))
        // Now it is this prompt's turn, and the agent does not show it.
        #expect(await second.value == .failed(.prompterFailed))
        #expect(await ask(AgentPrompter(roster, patience: .ofTests), prompt) == .failed(.noAgent))
        agent.end()
    }

    @Test("an answer from another program than the registered one is refused, and ends the agent")
    func anotherProgram() async throws {
        let desk = try desk()
        let isSame = Guarded(true)
        let asker = ClientIdentity(ownProgram: nil)
            .asker(
                uid: geteuid(),
                pid: getpid(),
                processStart: 0,
                program: "/usr/libexec/touchstone/touchstone-agent",
                role: .agent,
                isStill: { isSame.withLock { $0 } }
            )
        let agent = desk.visit(by: asker)
        _ = try await agent.registerAgent(AgentRegistration(Self.terminal, version: "test"))
        let asked = Task { await ask(AgentPrompter(roster, patience: .ofTests), prompt) }
        let number = try await agent.nextBox().number
        try await agent.boxIsShown(ShownBox(number, at: "a display"))
        isSame.withLock { $0 = false }
        for _ in 0..<2 {
            let error = await #expect(throws: KeychainError.self) {
                try await agent.boxIsAnswered(answer(number, "marble"))
            }
            #expect(error?.status == .missingEntitlement)
        }
        await #expect(throws: KeychainError.self) { _ = try await agent.nextBox().number }
        #expect(await asked.value == .failed(.dismissed))
        #expect(await ask(AgentPrompter(roster, patience: .ofTests), prompt) == .failed(.noAgent))
        agent.end()
    }

    @Test("a terminal's agent is preferred, and the display's is used only where its prompt is seen")
    func choice() async throws {
        let desk = try desk()
        func channels(_ origin: PromptOrigin) async -> Int? {
            try? await AgentPrompter(roster, patience: .ofTests).checkCanPrompt(at: origin).count
        }
        #expect(await channels(origin) == nil)
        let display = try await agent(Self.graphical, at: desk)
        #expect(await channels(origin) == nil, "over ssh, the box would be on the desk's screen")
        #expect(await channels(PromptOrigin()) == 1)
        #expect(await channels(PromptOrigin(terminal: "/dev/pts/7", display: ":0")) == 1)
        let onTerminal = try await agent(Self.terminal, at: desk)
        #expect(await channels(origin) == 1)
        #expect(await channels(PromptOrigin(terminal: "/dev/pts/7", display: ":0")) == 2)
        #expect(
            await channels(PromptOrigin(terminal: "/dev/pts/8")) == nil,
            "a terminal that nobody registered"
        )
        display.end()
        onTerminal.end()
    }

    @Test(
        "a prompt is on the channel of the place that the agent reports, and on none if it reports none",
        arguments: [AgentPrompterTests.graphical, AgentPrompterTests.terminal]
    )
    func places(place: AgentRegistration.Place) async throws {
        let desk = try desk()
        let agent = try await agent(place, at: desk)
        let prompter = AgentPrompter(roster, patience: .ofTests)
        let origin = place == Self.graphical ? PromptOrigin() : origin
        var found: [PromptChannel?] = []
        for server in ["server 17", nil, "server 17", "server 18", "server 17"] {
            let shown = Guarded<PromptChannel?>(PromptChannel("not shown"))
            let asked = Task {
                await ask(prompter, prompt, at: origin) { channel in shown.withLock { $0 = channel } }
            }
            let number = try await agent.nextBox().number
            try await agent.boxIsShown(ShownBox(number, at: server))
            try await agent.boxIsAnswered(answer(number, "marble"))
            #expect(await asked.value == .entered("marble"))
            found.append(shown.withLock { $0 })
            if let server, place == Self.graphical {
                #expect(found.last??.identity.hasSuffix(server) == true)
            }
            let likely = try await prompter.checkCanPrompt(at: origin)
            #expect(found.last == .some(nil) || likely == Set([found.last ?? nil].compactMap { $0 }))
        }
        #expect(found[0] != nil && found[1] == nil && found[2] == found[0] && found[4] == found[0])
        // A terminal's agent determined its session before it registered.
        #expect((found[3] == found[0]) == (place == Self.terminal))
        agent.end()
    }

    @Test(
        "agents on terminals of one login share a channel with `trust = session` alone",
        arguments: TerminalTrust.allCases
    )
    func logins(trust: TerminalTrust) async throws {
        let roster = AgentRoster(AgentAdmission(pinentryProgram: nil, isForTests: true), trust: trust)
        let desk = Desk(
            services: try DeskWorld().desk.services,
            limits: DeskLimits(longestRequest: Frame.longest),
            agents: roster
        )
        var channels: [Set<PromptChannel>] = []
        var visits: [Visit] = []
        for (number, login) in [(1, 7), (2, 7), (3, 8), (4, nil), (5, nil)] as [(Int32, UInt32?)] {
            let path = "/dev/pts/\(number)"
            let place = AgentRegistration.Place.terminal(path: path, session: number, start: 99, login: login)
            visits.append(try await agent(place, at: desk))
            let prompter = AgentPrompter(roster, patience: .ofTests)
            channels.append(try await prompter.checkCanPrompt(at: PromptOrigin(terminal: path)))
        }
        #expect((channels[0] == channels[1]) == (trust == .session))
        #expect(Set(channels).count == (trust == .session ? 4 : 5), "\(channels)")
        for visit in visits { visit.end() }
    }

    @Test("the first agent of a display stays registered, and a later one is a new channel")
    func registrations() async throws {
        let desk = try desk()
        let first = try await agent(Self.graphical, at: desk)
        let before = try await AgentPrompter(roster, patience: .ofTests).checkCanPrompt(at: PromptOrigin())
        let second = desk.visit(by: asker(.agent))
        let registration = AgentRegistration(Self.graphical, version: "test")
        await #expect(throws: KeychainError(.duplicateItem)) { try await second.registerAgent(registration) }
        await #expect(throws: KeychainError(.badReq)) { _ = try await second.nextBox().number }
        first.end()
        _ = try await second.registerAgent(registration)
        let after = try await AgentPrompter(roster, patience: .ofTests).checkCanPrompt(at: PromptOrigin())
        #expect(after != before)
        var crowd: [Visit] = []
        for _ in 0..<AgentRoster.mostOnOneTerminal { crowd.append(try await agent(Self.terminal, at: desk)) }
        await #expect(throws: KeychainError(.allocate)) { _ = try await agent(Self.terminal, at: desk) }
        for visit in crowd + [second] { visit.end() }
    }

    @Test(
        "a prompt belongs to the login of the agent that shows it, or else to that of the requesting process"
    )
    func logins() async throws {
        let desk = try desk()
        let prompter = AgentPrompter(roster, patience: .ofTests)
        func login(at origin: PromptOrigin) async -> UInt32? {
            await prompter.login(at: origin, of: geteuid())
        }
        #expect(await login(at: origin) == nil)
        let place = AgentRegistration.Place.terminal(path: "/dev/pts/7", session: 4711, start: 99, login: 5)
        let onTerminal = try await agent(place, at: desk)
        let onDisplay = try await agent(.graphical(display: ":0", waylandDisplay: nil, login: 6), at: desk)
        #expect(await login(at: origin) == 5)
        #expect(await login(at: PromptOrigin(display: ":0")) == 6)
        // The agent of another terminal says nothing about this one's.
        #expect(await login(at: PromptOrigin(terminal: "/dev/pts/8")) == nil)
        for visit in [onTerminal, onDisplay] { visit.end() }
        let service = try await agent(Self.graphical, at: desk)
        let stat = try #require(ProcessStat(of: getpid()))
        let client = PromptClient(process: getpid(), start: stat.start)
        let own = KernelLogin.number(of: getpid(), user: geteuid())
        #expect(await login(at: PromptOrigin(display: ":0", client: client)) == own)
        service.end()
    }

    @Test("agents may call only their own methods, and apps only the others; per-user mode has no agents")
    func roles() throws {
        let desk = try desk()
        let (agent, app) = (desk.visit(by: asker(.agent)), desk.visit(by: asker(.app)))
        let perUser = try DeskWorld().desk.visit(by: asker(.agent))
        let everybody: Set<Method> = [.hello, .cancel]
        for method in Method.allCases where !everybody.contains(method) {
            let isAgents = (70...76).contains(method.rawValue)
            #expect(agent.admits(method) == isAgents, "\(method)")
            #expect(app.admits(method) == (!isAgents && method != .represent), "\(method)")
            #expect(!perUser.admits(method), "\(method)")
        }
        for visit in [agent, app, perUser] { visit.end() }
    }
}

extension AgentPrompter.Patience {
    /// Longer than other tests keep the machine busy.
    fileprivate static let ofTests = Self(
        shown: .seconds(90),
        overtime: .seconds(90),
        takenAway: .seconds(90),
        confirmed: .seconds(90)
    )
}
