import KeychainModel

/// Gives requests their turns.
extension AuthenticationEngine {
    /// Runs `body` when the request has its turn: one prompt at a time, a few requests waiting, further ones refused.
    func takingTurns<Value: Sendable>(
        _ request: PromptRequest,
        _ body: () async throws(AuthenticationError) -> Value
    ) async throws(AuthenticationError) -> Value {
        if Task.isCancelled { throw AuthenticationError(.appCancel) }
        guard request.interactionAllowed else { throw AuthenticationError(.notInteractive) }
        let channels = try await checkPrompt(at: request.origin)
        try await takeTurn(request)
        (turnOrigin, turnChannels) = (request.origin, channels)
        defer { endTurn() }
        if Task.isCancelled { throw AuthenticationError(.appCancel) }
        if let refusal = promptRefusal(of: request.caller) { throw refusal }
        return try await body()
    }

    /// The channels a prompt could appear on.
    private func checkPrompt(
        at origin: PromptOrigin
    ) async throws(AuthenticationError) -> Set<PromptChannel> {
        do {
            return try await prompter.checkCanPrompt(at: origin)
        } catch {
            throw AuthenticationError(error)
        }
    }

    private func takeTurn(_ request: PromptRequest) async throws(AuthenticationError) {
        let ticket: Int
        switch queue.enter(uid: request.caller.uid, waitingPerUser: configuration.waitingPerUser) {
        case .go: return
        case .refused: throw AuthenticationError(.systemCancel, cause: .tooManyPrompts, remedy: .retry)
        case .wait(let number): ticket = number
        }
        let clearWait = showWait(of: request)
        defer { clearWait?() }
        let error = await withTaskCancellationHandler {
            await withCheckedContinuation {
                (continuation: CheckedContinuation<AuthenticationError?, Never>) in
                if Task.isCancelled {
                    queue.leave(ticket)
                    continuation.resume(returning: AuthenticationError(.appCancel))
                } else {
                    waiting[ticket] = continuation
                }
            }
        } onCancel: {
            Task { await self.giveUp(ticket) }
        }
        if let error { throw error }
    }

    private func giveUp(_ ticket: Int) {
        guard let continuation = waiting.removeValue(forKey: ticket) else { return }
        queue.leave(ticket)
        continuation.resume(returning: AuthenticationError(.appCancel))
    }

    private func endTurn() {
        interruption = nil
        (turnOrigin, turnChannels) = (nil, [])
        guard let ticket = queue.finish() else { return }
        waiting.removeValue(forKey: ticket)?.resume(returning: nil)
    }

    /// The number of requests that wait for their turn.
    var waitingCount: Int { waiting.count }

    /// Ends the present request and all waiting ones.
    func interrupt(_ interruption: Interruption) {
        if queue.isBusy { self.interruption = interruption }
        runner?.interrupt(interruption)
        flowBox?.cancel()
        let all = waiting
        waiting = [:]
        for (ticket, continuation) in all {
            queue.leave(ticket)
            continuation.resume(returning: interruption.error)
        }
    }
}
