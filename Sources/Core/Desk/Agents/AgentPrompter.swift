package import KeychainModel
package import SecretMemory

/// Has boxes drawn by an agent in the user's session: for a daemon whose account can open neither the user's terminals nor
/// the user's display.
///
/// The contract is that of a prompter that draws itself. An agent that dies, is stopped or does not do what it was told ends
/// the box, and none is asked in its place: what was counted stays counted.
package struct AgentPrompter: SecretPrompter {
    /// How long agents may take.
    struct Patience: Sendable {
        /// To put the box up, from the moment that it was asked for and none is before it; pinentry has 10 s of it.
        var shown = Duration.seconds(20)
        /// To end it, beyond the box's own time.
        var overtime = Duration.seconds(10)
        /// To take it away.
        var takenAway = Duration.seconds(5)
    }

    private let roster: AgentRoster
    private let patience: Patience

    /// Asks the agents of this roster.
    package init(_ roster: AgentRoster) { self.init(roster, patience: Patience()) }

    init(_ roster: AgentRoster, patience: Patience) {
        self.roster = roster
        self.patience = patience
    }

    /// Looks whether an agent could draw a box for a request from there.
    @discardableResult
    package func checkCanPrompt(at origin: PromptOrigin) async throws(PromptError) -> Set<PromptChannel> {
        Set(try roster.agents(for: origin).map(\.channel))
    }

    /// Shows a box and waits for its end.
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

    /// Has the first agent that is there draw a box.
    ///
    /// One that went before the box was up is no end of it: that of a terminal ends with the program that started it, and
    /// the next program of the same shell may be quicker than the news of it.
    private func onAgents(
        for origin: PromptOrigin,
        _ makeBox: () -> PendingBox
    ) async throws(PromptError) -> PromptAnswer {
        var agents = try roster.agents(for: origin)[...]
        while let agent = agents.popFirst() {
            let box = makeBox()
            do throws(PromptError) {
                return try await run(box, on: agent)
            } catch {
                guard !box.isShown, !Task.isCancelled else { throw error }
                switch error.code {
                // Another program reads from the terminal; its request may have a display as well.
                case .inBackground where !agents.isEmpty: continue
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

    /// Ends a box whose agent does not.
    private func watch(_ box: PendingBox, on agent: RegisteredAgent) async {
        var deadline = box.beginning + patience.shown
        while !box.isShown {
            guard (try? await Task.sleep(until: deadline, clock: .continuous)) != nil else { return }
            if box.isShown { break }
            // The person may still be at another one.
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
            // The agent says when it is gone; one that does not gets no other.
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
