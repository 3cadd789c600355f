package import KeychainModel
package import SecretMemory

/// Shows prompts through an agent in the user's session, for a daemon whose account cannot open the user's terminals and
/// display.
///
/// The contract is that of a prompter that shows prompts itself. An agent that dies, is stopped or breaks the protocol
/// ends the prompt, and no other agent is used instead: attempts that were counted stay counted.
package struct AgentPrompter: SecretPrompter {
    /// How long agents may take.
    struct Patience: Sendable {
        /// To show the prompt, from the moment it was requested and no other precedes it; pinentry may use 10 s of it.
        var shown = Duration.seconds(20)
        /// To end the prompt, beyond the prompt's own time-out.
        var overtime = Duration.seconds(10)
        /// To dismiss the prompt.
        var takenAway = Duration.seconds(5)
        /// To confirm that it still shows the prompt.
        var confirmed = Duration.seconds(1)
    }

    private let roster: AgentRoster
    private let patience: Patience

    /// Uses the agents of a roster.
    package init(_ roster: AgentRoster) { self.init(roster, patience: Patience()) }

    init(_ roster: AgentRoster, patience: Patience) {
        self.roster = roster
        self.patience = patience
    }

    /// The channels of the agents that could show a prompt for a request from `origin`.
    @discardableResult
    package func checkCanPrompt(at origin: PromptOrigin) async throws(PromptError) -> Set<PromptChannel> {
        Set(try await roster.agentsOnceHere(for: origin).map(\.likelyChannel))
    }

    /// Shows a prompt and waits for its answer.
    package func ask(
        _ prompt: Prompt,
        at origin: PromptOrigin,
        whenShown: @escaping @Sendable (() -> PromptChannel?) -> Void
    ) async throws(PromptError) -> PromptAnswer {
        try await onAgents(for: origin) {
            PendingBox(
                number: roster.nextBoxNumber(),
                prompt: prompt,
                origin: origin,
                whenShown: whenShown
            )
        }
    }

    /// Asks the agents that show a prompt for a request from `origin` whether they still do.
    ///
    /// A stopped agent's window stays, and nobody can cancel in it: its prompt fails, and the agent is dropped.
    package func stillShows(at origin: PromptOrigin) async -> Bool {
        let open = roster.open(for: origin)
        for (agent, box) in open {
            if await box.isConfirmed(within: patience.confirmed) { continue }
            let error = PromptError(.prompterFailed, detail: "the agent does not answer")
            // One that is being dismissed has its own time for that.
            if !box.isTakenAway, box.end(.failure(error)) { roster.drop(agent) }
            return false
        }
        return !open.isEmpty
    }

    /// The login of the agent that shows the prompt, or else that of the requesting process, if the sandbox lets it be read.
    package func login(at origin: PromptOrigin, of user: UInt32) async -> UInt32? {
        let agent = (try? roster.agents(for: origin))?.first
        return agent?.place.login ?? origin.client?.login(of: user)
    }

    /// Shows a secret below the prompt's text.
    package func show(
        _ secret: borrowing SecretBytes,
        in prompt: Prompt,
        at origin: PromptOrigin
    ) async throws(PromptError) -> PromptAnswer {
        let secret = secret.copy()
        return try await onAgents(for: origin) {
            PendingBox(
                number: roster.nextBoxNumber(),
                prompt: prompt,
                origin: origin,
                secret: secret.copy()
            )
        }
    }

    /// Shows a prompt with the first available agent.
    ///
    /// If the agent exits before the prompt was visible, the next one is tried: a terminal's agent ends with the program
    /// that started it, and the next program of the same shell may arrive before the daemon notices the exit.
    private func onAgents(
        for origin: PromptOrigin,
        _ makeBox: () -> PendingBox
    ) async throws(PromptError) -> PromptAnswer {
        var agents = try await roster.agentsOnceHere(for: origin)[...]
        while let agent = agents.popFirst() {
            let box = makeBox()
            do throws(PromptError) {
                return try await run(box, on: agent)
            } catch {
                guard !box.isShown, !Task.isCancelled else { throw error }
                switch error.code {
                // Another program reads from the terminal, or it is too small; the request may have a display as well.
                case .inBackground where !agents.isEmpty, .undrawable where !agents.isEmpty: continue
                case .dismissed where agent.isGone, .noAgent: agents = try roster.agents(for: origin)[...]
                default: throw error
                }
            }
        }
        throw PromptError(.noAgent)
    }

    private func run(_ box: PendingBox, on agent: RegisteredAgent) async throws(PromptError) -> PromptAnswer {
        guard agent.put(box) else { throw PromptError(.noAgent, detail: "the agent is gone") }
        let watching = Task { await watch(box, on: agent) }
        await withTaskCancellationHandler {
            await box.waitForEnd()
        } onCancel: {
            takeAway(box, from: agent, then: .dismissed)
        }
        watching.cancel()
        return try box.takeOutcome()
    }

    /// Ends a prompt that its agent does not end in time.
    private func watch(_ box: PendingBox, on agent: RegisteredAgent) async {
        var deadline = box.beginning + patience.shown
        while !box.isShown {
            guard (try? await Task.sleep(until: deadline, clock: .continuous)) != nil else { return }
            if box.isShown { break }
            // The user may still be answering an earlier prompt.
            deadline = (agent.turn(of: box) ?? .now) + patience.shown
            guard deadline <= .now else { continue }
            let error = PromptError(.prompterFailed, detail: "the agent did not show the box in time")
            if box.end(.failure(error)) { roster.drop(agent) }
            return
        }
        guard (try? await Task.sleep(for: box.prompt.timeout + patience.overtime)) != nil else { return }
        takeAway(box, from: agent, then: .timedOut)
    }

    private enum End: Sendable { case dismissed, timedOut }

    private func takeAway(_ box: PendingBox, from agent: RegisteredAgent, then end: End) {
        box.takeAway()
        if agent.takeBack(box) {
            box.end(.failure(PromptError(.dismissed)))
            return
        }
        Task {
            // The agent reports the end; an agent that does not is dropped.
            try? await Task.sleep(for: patience.takenAway)
            guard !box.isOver else { return }
            let isFirst =
                switch end {
                case .dismissed: box.end(.failure(PromptError(.dismissed)))
                case .timedOut: box.end(.success(.timedOut))
                }
            if isFirst { roster.drop(agent) }
        }
    }
}
