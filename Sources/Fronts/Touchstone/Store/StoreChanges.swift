extension SecretStore {
    /// Delivers the keys of all values, and after each change those of the values that were written, deleted or invalidated, until the
    /// consuming task ends; shows no prompt.
    ///
    /// ```swift
    /// for await keys in notes.changes() { list.reload(keys) }
    /// ```
    ///
    /// On Linux changes by other processes of this program count too, and in a group those of its other programs; on Apple's systems only
    /// those of this process. Several changes may arrive as one, and what was written and deleted again in between does not. The first
    /// element waits for the keychain's first unlock, and for a migration that another process has begun. The stream ends at
    /// once for a name that exceeds its limit.
    ///
    /// - Returns: a stream of keys.
    public func changes() -> AsyncStream<Set<String>> {
        guard let access = try? access(.silent, nil) else { return AsyncStream { $0.finish() } }
        let changes = StoreChanges(access, keychain.link)
        return AsyncStream { await changes.next() }
    }
}

/// The difference of a store between one look and the next.
private actor StoreChanges {
    private let access: StoreAccess
    private let link: KeychainLink
    /// Yields when to look.
    private let signals: AsyncStream<Void>
    /// What was told of; nil before the first look.
    private var last: [String: StoreCalls.Mark]?

    init(_ access: StoreAccess, _ link: KeychainLink) {
        (self.access, self.link) = (access, link)
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let end = link.listenToItems { signal.yield() }
        signal.onTermination = { _ in end() }
        signal.yield()
        self.signals = signals
    }

    /// The keys of the values that changed since the last call; nil when the task is cancelled.
    func next() async -> Set<String>? {
        for await _ in signals {
            // A keychain that cannot be read now reports a change when it can.
            guard let now = try? await link.marks(access) else { continue }
            let keys = Set(now.keys).union((last ?? [:]).keys).filter { now[$0] != last?[$0] }
            let isFirst = last == nil
            last = now
            if isFirst || !keys.isEmpty { return keys }
        }
        return nil
    }
}

extension StoreCalls {
    /// By what a change of a value is noticed.
    fileprivate struct Mark: Hashable, Sendable {
        let version: [UInt8]
        let standing: ListedPassword.Standing
    }
}

extension KeychainLink {
    fileprivate func marks(_ access: StoreAccess) async throws(TouchstoneError) -> [String: StoreCalls.Mark] {
        try await onStore(access, StoreContext(self, access)) { calls throws(TouchstoneError) in
            try calls.checkRule(makes: false)
            var marks: [String: StoreCalls.Mark] = [:]
            for item in try calls.calls.list(calls.place.query(nil)) where item.account != StorePlace.marker {
                marks[item.account] = .init(version: item.version, standing: item.standing)
            }
            return marks
        }
    }
}
