import KeychainModel

/// Gives requests their turns.
extension AuthenticationEngine {
    /// Runs `body` when the request has its turn: one prompt at a time, a few requests waiting, further ones refused.
    ///
    /// A request whose session is not active on its seat ends before anything is shown, when it arrives, when its turn comes,
    /// and as soon as another session becomes active.
    func takingTurns<Value: Sendable>(
        _ request: PromptRequest,
        _ body: () async throws(AuthenticationError) -> Value
    ) async throws(AuthenticationError) -> Value {
        if Task.isCancelled { throw AuthenticationError(.appCancel) }
        guard request.interactionAllowed else { throw AuthenticationError(.notInteractive) }
        let channels = try await checkPrompt(at: request.origin)
        let login = try await checkSession(of: request)
        try await takeTurn(request)
        turnCount += 1
        (turnOrigin, turnChannels) = (request.origin, channels)
        let watch = watchSession(of: login)
        defer {
            watch?.cancel()
            endTurn()
        }
        try await checkSession(login)
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

    /// The login of the place where the request's prompt would be shown; nil if it is unknown or makes no difference.
    ///
    /// - Throws: ``AuthenticationError`` `systemCancel` if its session is not active on its seat.
    private func checkSession(of request: PromptRequest) async throws(AuthenticationError) -> UInt32? {
        guard seats != nil else { return nil }
        let login = await prompter.login(at: request.origin, of: request.caller.uid)
        try await checkSession(login)
        return login
    }

    private func checkSession(_ login: UInt32?) async throws(AuthenticationError) {
        guard await seats?.isAway(login) == true else { return }
        throw Interruption.sessionInactive.error
    }

    /// Ends the present turn once its session is not active any more.
    private func watchSession(of login: UInt32?) -> Task<Void, Never>? {
        guard let seats else { return nil }
        return Task { [turnCount] in
            guard await seats.waitUntilAway(login) else { return }
            self.interruptTurn(turnCount, .sessionInactive)
        }
    }

    private func interruptTurn(_ turn: UInt64, _ interruption: Interruption) {
        // Another request may have the turn by now.
        guard turn == turnCount, turnOrigin != nil else { return }
        interruptTurn(interruption)
    }

    private func interruptTurn(_ interruption: Interruption) {
        if queue.isBusy { self.interruption = interruption }
        runner?.interrupt(interruption)
        flowBox?.cancel()
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
        interruptTurn(interruption)
        let all = waiting
        waiting = [:]
        for (ticket, continuation) in all {
            queue.leave(ticket)
            continuation.resume(returning: interruption.error)
        }
    }
}
