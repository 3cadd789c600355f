package import KeychainModel
import SecretMemory

/// What an agent calls.
extension Visit {
    /// Says where the agent draws; boxes come to it from now on.
    ///
    /// - Throws: ``KeychainError`` `errSecDuplicateItem`, `errSecAllocate`, and `errSecMissingEntitlement` where the kernel
    ///   says otherwise of the agent's terminal.
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

    /// Waits for the agent's next box.
    ///
    /// - Throws: ``KeychainError`` `errSecBadReq` before ``registerAgent(_:)``, while the last box is not over, and once the
    ///   agent is not wanted any more.
    package func nextBox() async throws(KeychainError) -> AgentBox {
        try await serving(.agentNext) { () async throws(KeychainError) in
            guard let box = try await agent().next() else {
                throw Task.isCancelled
                    ? KeychainError(asEnded(AuthenticationError(.appCancel))) : KeychainError(.badReq)
            }
            return box.message()
        }
    }

    /// The box is up.
    package func boxIsShown(_ box: BoxNumber) async throws(KeychainError) {
        try await serving(.agentShown) { () async throws(KeychainError) in
            let agent = try agent()
            // One that is to go, or went, is told by the other call.
            _ = try agent.box(box.number).noteShown(on: agent.channel)
        }
    }

    /// What became of the box.
    ///
    /// - Throws: ``KeychainError`` `errSecParam` for what cannot be done in that box, or not yet: the box ends as failed.
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

    /// Waits until the box is to be taken away, or is over.
    package func boxIsUnwanted(_ box: BoxNumber) async throws(KeychainError) {
        try await serving(.agentGone) { () async throws(KeychainError) in
            try await agent().box(box.number).waitForTakeaway()
        }
    }

    /// Judges a new secret that is being typed into the box.
    ///
    /// - Throws: ``KeychainError`` `errSecParam` where there is nothing to judge.
    package func judge(_ draft: borrowing AgentDraft) async throws(KeychainError) -> DraftVerdict {
        let box = try agent().box(draft.number)
        guard box.isShown, !box.isOver, let judge = box.prompt.judge else { throw KeychainError(.param) }
        return DraftVerdict(judge.judge(draft.secret))
    }

    private func roster() throws(KeychainError) -> AgentRoster {
        guard let agents = desk.agents, asker.role == .agent else { throw KeychainError(.missingEntitlement) }
        checkAsker()
        // Its group is the connection's for good; who has the connection now is another program.
        guard !asker.isAnother else {
            agents.remove(visit: number)
            throw KeychainError(.missingEntitlement, cause: DriverCause(domain: "caller", code: "changed"))
        }
        return agents
    }

    private func agent() throws(KeychainError) -> RegisteredAgent { try roster().agent(of: number) }
}

extension AgentRegistration.Place {
    /// Whether the kernel says of the agent what the agent says: its terminal and the leader of its session.
    ///
    /// A daemon whose sandbox hides other users' processes cannot look, and believes the agent, which looked itself and is
    /// nobody's to change.
    fileprivate func isPossible(for agent: Caller) -> Bool {
        guard case .terminal(_, let session, let start) = self, agent.processStart > 0,
            let stat = ProcessStat(of: agent.pid), stat.start == agent.processStart
        else { return true }
        guard stat.terminal != 0, stat.session == session else { return false }
        return ProcessStat(of: session).map { $0.start == start } ?? true
    }
}
