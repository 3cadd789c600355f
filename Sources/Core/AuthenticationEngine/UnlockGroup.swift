import KeychainModel

/// Requests that wait for the keychain to be unlocked and share the outcome of one prompt.
///
/// Evaluations are never joined: each prompt names its purpose, and its proof belongs to one context.
struct UnlockGroup {
    /// How a joined request continues.
    enum Outcome: Sendable {
        /// With the outcome of the request that prompted.
        case shared(Result<Void, AuthenticationError>)
        /// The prompting request ended without an answer of the user: this request prompts now.
        case asksNow
        /// The request's own client gave it up.
        case left
    }

    private var waiting: [(ticket: Int, continuation: CheckedContinuation<Outcome, Never>)] = []

    /// The number of requests that wait for the prompting one.
    var count: Int { waiting.count }

    /// Adds a request.
    mutating func join(_ ticket: Int, _ continuation: CheckedContinuation<Outcome, Never>) {
        waiting.append((ticket, continuation))
    }

    /// Removes a request that was given up; nil if it already has its outcome.
    mutating func leave(_ ticket: Int) -> CheckedContinuation<Outcome, Never>? {
        guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        return waiting.remove(at: index).continuation
    }

    /// Removes the oldest request, to prompt in place of one that left.
    mutating func next() -> CheckedContinuation<Outcome, Never>? {
        waiting.isEmpty ? nil : waiting.removeFirst().continuation
    }

    /// Removes all requests.
    mutating func all() -> [CheckedContinuation<Outcome, Never>] {
        defer { waiting = [] }
        return waiting.map(\.continuation)
    }

    /// Whether the prompting request failed for a reason that does not concern the others: its client, its terminal or
    /// display, its session, or its prompt program.
    static func isItsOwn(_ error: AuthenticationError) -> Bool {
        switch error.code {
        case .appCancel, .notInteractive: true
        case .systemCancel:
            error.cause?.domain == "prompt" || error.cause == .callerSilenced
                || error.cause == .sessionInactive
        default: false
        }
    }
}

extension AuthenticationEngine {
    /// Unlocks the keybag with one prompt for all waiting requests of a user.
    ///
    /// - Parameters:
    ///   - request: the caller and the origin of its prompt.
    ///   - ask: shows the prompt, if this request is the one that prompts.
    /// - Returns: the proof for the request that prompted; nil for those that joined.
    /// - Throws: ``AuthenticationError`` of the prompt, or of this request alone.
    func joiningUnlocks(
        _ request: PromptRequest,
        _ ask: () async throws(AuthenticationError) -> AuthenticationProof?
    ) async throws(AuthenticationError) -> AuthenticationProof? {
        let uid = request.caller.uid
        guard request.interactionAllowed else { throw AuthenticationError(.notInteractive) }
        if unlocks[uid] != nil {
            switch await joined(request) {
            case .shared(let result):
                try result.get()
                return nil
            case .left: throw AuthenticationError(.appCancel)
            case .asksNow: break
            }
        } else {
            unlocks[uid] = UnlockGroup()
        }
        let result: Result<AuthenticationProof?, AuthenticationError>
        do throws(AuthenticationError) {
            result = .success(try await ask())
        } catch {
            result = .failure(error)
        }
        end(of: uid, result.map { _ in () })
        return try result.get()
    }

    private func joined(_ request: PromptRequest) async -> UnlockGroup.Outcome {
        let uid = request.caller.uid
        lastUnlockTicket += 1
        let ticket = lastUnlockTicket
        let clearWait = showWait(of: request)
        defer { clearWait?() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled {
                    continuation.resume(returning: .left)
                } else {
                    unlocks[uid, default: UnlockGroup()].join(ticket, continuation)
                }
            }
        } onCancel: {
            Task { await self.leaveUnlock(ticket, of: uid) }
        }
    }

    private func leaveUnlock(_ ticket: Int, of uid: UInt32) {
        unlocks[uid]?.leave(ticket)?.resume(returning: .left)
    }

    private func end(of uid: UInt32, _ result: Result<Void, AuthenticationError>) {
        if case .failure(let error) = result, UnlockGroup.isItsOwn(error),
            let next = unlocks[uid]?.next()
        {
            next.resume(returning: .asksNow)
            return
        }
        var group = unlocks.removeValue(forKey: uid) ?? UnlockGroup()
        for continuation in group.all() {
            continuation.resume(returning: .shared(result))
        }
    }

    /// The number of requests that wait for the running unlock of `uid`.
    func joinedCount(of uid: UInt32) -> Int { unlocks[uid]?.count ?? 0 }

    /// Shows on a request's terminal that it waits; nil if no prompt is shown now, or it is shown there.
    func showWait(of request: PromptRequest) -> (@Sendable () -> Void)? {
        turnOrigin.flatMap { prompter.showWait(at: request.origin, for: $0) }
    }
}
