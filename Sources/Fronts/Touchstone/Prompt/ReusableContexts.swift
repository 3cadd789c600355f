internal import Foundation

#if !APPLE_SIDE
    internal import SecretMemory
#endif

/// This process's contexts that authorise several uses: one for each store or key, and rule (``AccessRule/reusable(for:)``).
///
/// A prompt for one of them authorises no other. The system empties a context at a lock, when the machine sleeps and when the
/// enrolled fingers change.
final class ReusableContexts: Sendable {
    static let shared = ReusableContexts()

    /// What a prompt authorises, and under which rule.
    struct Place: Hashable {
        enum Thing: Hashable {
            case store(StorePlace)
            /// A key, by its representation, which a later key of the same name does not share.
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

    /// A context in which the user met a rule.
    struct Shown {
        /// Its link retains the keychain, so that the identity in the place is not reused.
        let session: PromptSession
        /// The time just before the prompt.
        fileprivate let start: ContinuousClock.Instant
        /// What the use with the prompt was worth; nil for a store.
        let assurance: Assurance?
    }

    private let entries = Guarded<[Place: Shown]>([:])

    /// The context that is still valid for a place; nil for none.
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
        // A call that began just before the end may still be using the context.
        _ = Timers.after(place.rule.reuse + PromptText.longestTimeout) {
            self.forget(session, of: place)
            session.end()
        }
    }

    /// Removes a context, so that later uses do not find it; a use in progress continues.
    func forget(_ session: PromptSession, of place: Place) {
        entries.withLock { entries in
            if entries[place]?.session === session { entries[place] = nil }
        }
    }
}
