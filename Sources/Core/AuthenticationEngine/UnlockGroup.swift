import KeychainModel

/// Requests that wait for the same thing, an unlocked keychain, and get the outcome of one prompt.
///
/// Evaluations are never joined: each names what it is for, and its proof belongs to one context.
struct UnlockGroup {
    /// How a request that joined goes on.
    enum Outcome: Sendable {
        /// As the one that asked.
        case shared(Result<Void, AuthenticationError>)
        /// The one that asked left without an answer of the person: this one asks now.
        case asksNow
        /// It was given up by its own client.
        case left
    }

    private var waiting: [(ticket: Int, continuation: CheckedContinuation<Outcome, Never>)] = []

    /// How many wait for the one that asks.
    var count: Int { waiting.count }

    /// Adds a request.
    mutating func join(_ ticket: Int, _ continuation: CheckedContinuation<Outcome, Never>) {
        waiting.append((ticket, continuation))
    }

    /// Takes a request out that is given up; nil when it has its outcome.
    mutating func leave(_ ticket: Int) -> CheckedContinuation<Outcome, Never>? {
        guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        return waiting.remove(at: index).continuation
    }

    /// Takes out the request that came first, to ask in place of one that left.
    mutating func next() -> CheckedContinuation<Outcome, Never>? {
        waiting.isEmpty ? nil : waiting.removeFirst().continuation
    }

    /// Takes out all.
    mutating func all() -> [CheckedContinuation<Outcome, Never>] {
        defer { waiting = [] }
        return waiting.map(\.continuation)
    }

    /// Whether an end of the one that asked says nothing about the others: it was its client, its place or its program
    /// that failed.
    static func isItsOwn(_ error: AuthenticationError) -> Bool {
        switch error.code {
        case .appCancel, .notInteractive: true
        case .systemCancel: error.cause?.domain == "prompt" || error.cause == .callerSilenced
        default: false
        }
    }
}

extension AuthenticationEngine {
    /// Unlocks the keybag with one prompt for all requests of a user that wait for it.
    ///
    /// - Parameters:
    ///   - request: who asks, and where.
    ///   - ask: shows the prompt, when it is this request that does.
    /// - Returns: the proof, to the request that asked; nil to those that joined.
    /// - Throws: ``AuthenticationError``: of the prompt, or of this request alone.
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

    /// How many requests wait for the unlock that `uid` is asked for.
    func joinedCount(of uid: UInt32) -> Int { unlocks[uid]?.count ?? 0 }

    /// Says on the terminal of a request that it waits; nil where nobody is asked, or there.
    func showWait(of request: PromptRequest) -> (@Sendable () -> Void)? {
        turnOrigin.flatMap { prompter.showWait(at: request.origin, for: $0) }
    }
}
