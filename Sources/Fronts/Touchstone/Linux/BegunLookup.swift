internal import KeychainClient
internal import KeychainModel

extension KeychainLink {
    /// How long the caller's own thread polls for the daemon's reply: several times the duration of a request without a
    /// prompt.
    ///
    /// Handing over to another thread and back takes as long as the reply itself.
    private static let moment = Duration.microseconds(200)

    /// Starts a look-up on the caller's own thread, without blocking it.
    ///
    /// - Returns: nil if the request could not be sent at once, or needs another request to the daemon first.
    func begin(_ key: String, _ access: StoreAccess, _ session: PromptSession?) -> BegunLookup? {
        let rule = access.store.rule
        guard rule.level == nil, client.isKnownToMeet(rule) else { return nil }
        let query = StorePlace(access.store).query(key, rule: rule)
        let request = CopyItems(
            query: query.itemQuery([.data, .attributes]),
            context: session?.number,
            prompt: fields(access.permission.prompt)
        )
        // An error here is reported by the ordinary request that follows.
        guard let begun = try? client.beginCopy(request, lookingFor: Self.moment) else { return nil }
        return BegunLookup(begun)
    }
}

/// A look-up whose request was sent.
final class BegunLookup: Sendable {
    private let begun: BegunCopy

    fileprivate init(_ begun: BegunCopy) { self.begun = begun }

    /// The secret, if the reply has arrived; does not block.
    func arrived() -> FoundSecret? {
        guard begun.hasArrived, let results = try? begun.finish() else { return nil }
        return FoundSecret(results)
    }

    /// The secret; blocks until the reply arrives.
    func secret(_ calls: KeychainCalls) throws(TouchstoneError) -> FoundSecret {
        let begun = begun
        return FoundSecret(
            try below { () throws(KeychainError) in try begun.finish(cancellation: calls.cancellation) }
        )
    }

    deinit {
        // Dropping a pending look-up writes to the socket, which may block; if no thread is available it happens
        // here.
        guard !begun.hasArrived, !begun.hasEnded else { return }
        _ = WaitingThreads.shared.run { [begun] in withExtendedLifetime(begun) {} }
    }
}
