package import KeychainModel
import SecretMemory

/// The calls of agents.
extension Visit {
    /// Registers the agent and where it shows prompts; it gets prompts from now on.
    ///
    /// - Throws: ``KeychainError`` `errSecDuplicateItem`, `errSecAllocate`, and `errSecMissingEntitlement` if the agent's
    ///   terminal is not the one the kernel reports.
    package func registerAgent(
        _ registration: AgentRegistration
    ) async throws(KeychainError) -> AgentAdmission {
        try await serving(.agentRegister) { () async throws(KeychainError) in
            let roster = try roster()
            guard registration.place.isPossible(for: caller) else {
                throw KeychainError(
                    .missingEntitlement,
                    cause: DriverCause(domain: "agent", code: "not its controlling terminal")
                )
            }
            _ = try roster.add(registration, visit: number)
            return roster.admission
        }
    }

    /// Waits for the agent's next prompt.
    ///
    /// - Throws: ``KeychainError`` `errSecBadReq` before ``registerAgent(_:)``, while the last prompt has not ended, and
    ///   after the agent was dropped.
    package func nextBox() async throws(KeychainError) -> AgentBox {
        try await serving(.agentNext) { () async throws(KeychainError) in
            guard let box = try await agent().next() else {
                throw Task.isCancelled
                    ? KeychainError(asEnded(AuthenticationError(.appCancel))) : KeychainError(.badReq)
            }
            return box.message()
        }
    }

    /// Reports that the prompt is visible, and where.
    package func boxIsShown(_ box: ShownBox) async throws(KeychainError) {
        try await serving(.agentShown) { () async throws(KeychainError) in
            let agent = try agent()
            // A prompt that was dismissed or has ended is reported by `boxIsUnwanted`.
            _ = try agent.box(box.number).noteShown(on: agent.channel(shownAt: box.place))
        }
    }

    /// Ends the prompt with the agent's answer.
    ///
    /// - Throws: ``KeychainError`` `errSecParam` for an answer that this prompt cannot have, or not yet: the prompt ends
    ///   as failed.
    package func boxIsAnswered(_ answer: consuming AgentAnswer) async throws(KeychainError) {
        let box = try agent().box(answer.number)
        let outcome = answer.take()
        guard box.takes(outcome) else {
            box.end(.failure(PromptError(.prompterFailed, detail: "an answer that the box cannot have")))
            throw failed(KeychainError(.param), .agentAnswer)
        }
        switch consume outcome {
        case .answered(let answer): box.end(.success(answer))
        case .failed(let error): box.end(.failure(error))
        }
    }

    /// Waits until the prompt is to be dismissed or has ended.
    package func boxIsUnwanted(_ box: BoxNumber) async throws(KeychainError) {
        try await serving(.agentGone) { () async throws(KeychainError) in
            try await agent().box(box.number).waitForTakeaway()
        }
    }

    /// Waits until the agent is to confirm with ``boxIsShown(_:)`` that it still shows the prompt.
    ///
    /// - Throws: ``KeychainError`` `errSecParam` once the prompt has ended.
    package func boxIsChecked(_ number: BoxNumber) async throws(KeychainError) {
        try await serving(.agentCheck) { () async throws(KeychainError) in
            let box = try agent().box(number.number)
            await box.waitForCheck()
            guard !box.isOver else { throw KeychainError(.param) }
        }
    }

    /// Judges a new secret while it is typed into the prompt.
    ///
    /// - Throws: ``KeychainError`` `errSecParam` if this prompt has no judge.
    package func judge(_ draft: borrowing AgentDraft) async throws(KeychainError) -> DraftVerdict {
        let box = try agent().box(draft.number)
        guard box.isShown, !box.isOver, let judge = box.prompt.judge else { throw KeychainError(.param) }
        return DraftVerdict(judge.judge(draft.secret))
    }

    private func roster() throws(KeychainError) -> AgentRoster {
        guard let agents = desk.agents, asker.role == .agent else { throw KeychainError(.missingEntitlement) }
        checkAsker()
        // The role belongs to the connection for good, but another program has the connection now.
        guard !asker.isAnother else {
            agents.remove(visit: number)
            throw KeychainError(.missingEntitlement, cause: DriverCause(domain: "caller", code: "changed"))
        }
        return agents
    }

    private func agent() throws(KeychainError) -> RegisteredAgent { try roster().agent(of: number) }
}

extension AgentRegistration.Place {
    /// Whether the kernel confirms the terminal and the session leader that the agent reports.
    ///
    /// A daemon whose sandbox hides other users' processes cannot check, and trusts the agent, which checked itself and
    /// which no user can modify.
    fileprivate func isPossible(for agent: Caller) -> Bool {
        guard case .terminal(_, let session, let start, _) = self, agent.processStart > 0,
            let stat = ProcessStat(of: agent.pid), stat.start == agent.processStart
        else { return true }
        guard stat.terminal != 0, stat.session == session else { return false }
        return ProcessStat(of: session).map { $0.start == start } ?? true
    }
}
