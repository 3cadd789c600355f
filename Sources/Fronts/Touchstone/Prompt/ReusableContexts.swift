internal import Foundation

#if !APPLE_SIDE
    internal import SecretMemory
#endif

/// The contexts of this process that serve several uses: one for each store, or key, and rule (``AccessRule/reusable(for:)``).
///
/// A prompt that was shown for one of them serves no other. The system empties a context at a lock, when the machine sleeps and
/// when the enrolled fingers change.
final class ReusableContexts: Sendable {
    static let shared = ReusableContexts()

    /// What a prompt serves, and under which rule.
    struct Place: Hashable {
        enum Thing: Hashable {
            case store(StorePlace)
            /// A key, by its representation, which a key that is made later under its name does not have.
            case key(Data)
        }

        private let keychain: ObjectIdentifier
        private let thing: Thing
        fileprivate let rule: AccessRule

        init(_ link: KeychainLink, _ thing: Thing, _ rule: AccessRule) {
            keychain = link.identity
            self.thing = thing
            self.rule = rule
        }
    }

    /// A context in which the user showed what a rule demands.
    struct Shown {
        /// Its link keeps the keychain, whose identity is in the place.
        let session: PromptSession
        /// When the user was asked, at the earliest.
        fileprivate let start: ContinuousClock.Instant
        /// What the use was worth that the user was asked for; nil for a store's.
        let assurance: Assurance?
    }

    private let entries = Guarded<[Place: Shown]>([:])

    /// The context that still serves a place; nil for none.
    func find(_ place: Place) -> Shown? {
        guard place.rule.reuse > .zero else { return nil }
        return entries.withLock { entries in
            guard let entry = entries[place], .now - entry.start < place.rule.reuse, !entry.session.isEnded
            else { return nil }
            return entry
        }
    }

    /// Keeps the context of a successful prompt for the rule's reusable time; ends it at once if the rule has none.
    func keep(
        _ session: PromptSession,
        since start: ContinuousClock.Instant,
        for place: Place,
        worth assurance: Assurance? = nil
    ) {
        guard place.rule.reuse > .zero else { return session.end() }
        entries.withLock { $0[place] = Shown(session: session, start: start, assurance: assurance) }
        // A call that began in time may still be under way at its end.
        _ = Timers.after(place.rule.reuse + PromptText.longestTimeout) {
            self.forget(session, of: place)
            session.end()
        }
    }

    /// Removes a context, so that no later use finds it; a use that is under way with it goes on.
    func forget(_ session: PromptSession, of place: Place) {
        entries.withLock { entries in
            if entries[place]?.session === session { entries[place] = nil }
        }
    }
}
