internal import KeychainClient
internal import SecretMemory

/// What the user shows in the course of one call: a context of the daemon, which keeps what was shown in it.
///
/// A call's own context is forgotten with the call. Where the store's rule is reusable, the context in which the user was asked
/// serves the next calls of this process too, until its time is over; the daemon empties it at a lock and when the enrolled
/// fingers change.
struct StoreContext: Sendable {
    /// The context's number; nil where nothing is shown.
    let number: UInt64?
    private let link: KeychainLink
    private let access: StoreAccess
    /// Since when it counts as shown, at the latest; nil for a context that is not this call's own.
    private let start: ContinuousClock.Instant?

    init(_ link: KeychainLink, _ access: StoreAccess) {
        self.link = link
        self.access = access
        switch access.permission.kind {
        case .proof(let proof): (number, start) = (proof.session.number, nil)
        case .prompt where access.store.rule.asks:
            if let reused = ReusableContexts.shared.find(link.client, access.store) {
                (number, start) = (reused, nil)
            } else {
                (number, start) = (link.client.makeContextNumber(), .now)
            }
        case .prompt, .silent: (number, start) = (nil, nil)
        }
    }

    /// The call is over.
    ///
    /// - Parameter hasShown: whether it went through on what the user showed.
    func end(hasShown: Bool) {
        guard let number, let start else { return }
        if hasShown, access.store.rule.reuse > .zero {
            ReusableContexts.shared.keep(number, since: start, link, access.store)
        } else {
            link.forget(number)
        }
    }
}

/// The contexts of this process that serve several calls: one for each store and rule.
private final class ReusableContexts: Sendable {
    static let shared = ReusableContexts()

    private struct Key: Hashable {
        let client: ObjectIdentifier
        let place: StorePlace
        let rule: AccessRule

        init(_ client: RemoteKeychain, _ store: SecretStore) {
            self.client = ObjectIdentifier(client)
            place = StorePlace(store)
            rule = store.rule
        }
    }

    private struct Entry {
        let number: UInt64
        let start: ContinuousClock.Instant
    }

    private let entries = Guarded<[Key: Entry]>([:])

    /// The context that still serves a store; nil for none.
    func find(_ client: RemoteKeychain, _ store: SecretStore) -> UInt64? {
        guard store.rule.reuse > .zero else { return nil }
        return entries.withLock { entries in
            guard let entry = entries[Key(client, store)], .now - entry.start < store.rule.reuse else {
                return nil
            }
            return entry.number
        }
    }

    /// Has a context serve a store for as long as its rule says.
    func keep(
        _ number: UInt64,
        since start: ContinuousClock.Instant,
        _ link: KeychainLink,
        _ store: SecretStore
    ) {
        let key = Key(link.client, store)
        entries.withLock { $0[key] = Entry(number: number, start: start) }
        // A call that began in time may still be under way at its end. The link keeps the client, whose identity is in the key.
        _ = Timers.after(store.rule.reuse + PromptText.longestTimeout) {
            self.entries.withLock { entries in
                if entries[key]?.number == number { entries[key] = nil }
            }
            link.forget(number)
        }
    }
}
