internal import KeychainClient
internal import KeychainModel

extension KeychainLink {
    /// How long the daemon's answer is looked for on the caller's own thread: several times what one takes that asks nobody.
    ///
    /// To wake another thread and to be woken by it takes as long as the answer itself.
    private static let moment = Duration.microseconds(200)

    /// Begins to look for a secret on the caller's own thread, which does not sleep.
    ///
    /// - Returns: nil where it could not be sent at once, or the daemon has to be asked something else before.
    func begin(_ key: String, _ access: StoreAccess, _ session: PromptSession?) -> BegunLookup? {
        let rule = access.store.rule
        guard rule.level == nil, client.isKnownToMeet(rule) else { return nil }
        let query = StorePlace(access.store).query(key, rule: rule)
        let request = CopyItems(
            query: query.itemQuery([.data, .attributes]),
            context: session?.number,
            prompt: fields(access.permission.prompt)
        )
        // What is wrong with it is told where it is asked for again.
        guard let begun = try? client.beginCopy(request, lookingFor: Self.moment) else { return nil }
        return BegunLookup(begun)
    }
}

/// A look-up that was sent.
final class BegunLookup: Sendable {
    private let begun: BegunCopy

    fileprivate init(_ begun: BegunCopy) { self.begun = begun }

    /// What was found, if it is here already; waits for nothing.
    func arrived() -> FoundSecret? {
        guard begun.hasArrived, let results = try? begun.finish() else { return nil }
        return FoundSecret(results)
    }

    /// What was found; blocks.
    func secret(_ calls: KeychainCalls) throws(TouchstoneError) -> FoundSecret {
        let begun = begun
        return FoundSecret(
            try below { () throws(KeychainError) in try begun.finish(cancellation: calls.cancellation) }
        )
    }

    deinit {
        // One that is dropped under way writes to the socket, which may block. Without a thread it has to be here.
        guard !begun.hasArrived, !begun.hasEnded else { return }
        _ = WaitingThreads.shared.run { [begun] in withExtendedLifetime(begun) {} }
    }
}
