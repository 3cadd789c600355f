#if !APPLE_SIDE
    internal import SecretMemory
#endif

/// What the user shows in the course of one call: a context of the system, which keeps what was shown in it.
///
/// A call's own context is forgotten with the call. Where the store's rule is reusable, the context in which the user was asked
/// serves the next calls of this process too, until its time is over; the system empties it at a lock and when the enrolled
/// fingers change.
struct StoreContext: Sendable {
    /// nil where nothing is shown.
    let session: PromptSession?
    private let access: StoreAccess
    /// Since when it counts as shown, at the latest; nil for a context that is not this call's own.
    private let start: ContinuousClock.Instant?

    init(_ link: KeychainLink, _ access: StoreAccess) {
        self.access = access
        switch access.permission.kind {
        case .proof(let proof): (session, start) = (proof.session, nil)
        case .prompt where access.store.rule.asks:
            if let reused = ReusableContexts.shared.find(link, access.store) {
                (session, start) = (reused, nil)
            } else {
                (session, start) = (link.makeSession(), .now)
            }
        case .prompt, .silent: (session, start) = (nil, nil)
        }
    }

    /// Whether the user is asked in the course of the call, as far as is known before: a context of its own is still empty.
    var asks: Bool { start != nil }

    /// The call is over.
    ///
    /// - Parameter hasShown: whether it went through on what the user showed.
    func end(hasShown: Bool) {
        guard let session, let start else { return }
        if hasShown, access.store.rule.reuse > .zero {
            ReusableContexts.shared.keep(session, since: start, access.store)
        } else {
            session.end()
        }
    }
}

/// The contexts of this process that serve several calls: one for each store and rule.
private final class ReusableContexts: Sendable {
    static let shared = ReusableContexts()

    private struct Key: Hashable {
        let keychain: ObjectIdentifier
        let place: StorePlace
        let rule: AccessRule

        init(_ link: KeychainLink, _ store: SecretStore) {
            keychain = link.identity
            place = StorePlace(store)
            rule = store.rule
        }
    }

    private struct Entry {
        /// Its link keeps the keychain, whose identity is in the key.
        let session: PromptSession
        let start: ContinuousClock.Instant
    }

    private let entries = Guarded<[Key: Entry]>([:])

    /// The context that still serves a store; nil for none.
    func find(_ link: KeychainLink, _ store: SecretStore) -> PromptSession? {
        guard store.rule.reuse > .zero else { return nil }
        return entries.withLock { entries in
            guard let entry = entries[Key(link, store)], .now - entry.start < store.rule.reuse,
                !entry.session.isEnded
            else { return nil }
            return entry.session
        }
    }

    /// Has a context serve a store for as long as its rule says.
    func keep(_ session: PromptSession, since start: ContinuousClock.Instant, _ store: SecretStore) {
        let key = Key(session.link, store)
        entries.withLock { $0[key] = Entry(session: session, start: start) }
        // A call that began in time may still be under way at its end.
        _ = Timers.after(store.rule.reuse + PromptText.longestTimeout) {
            self.entries.withLock { entries in
                if entries[key]?.session === session { entries[key] = nil }
            }
            session.end()
        }
    }
}
