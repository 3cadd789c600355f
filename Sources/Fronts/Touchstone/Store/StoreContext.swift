/// The context of one call: the system keeps in it what the user authenticated.
///
/// A call's own context is discarded after the call. If the store's rule is reusable, the context with the prompt is used for
/// the next calls of this process too, until its time has passed; the system empties it at a lock and when the enrolled fingers
/// change.
struct StoreContext: Sendable {
    /// nil if the call needs no context.
    let session: PromptSession?
    private let access: StoreAccess
    /// The time just before a prompt in this context; nil for a context of another call.
    private let start: ContinuousClock.Instant?

    init(_ link: KeychainLink, _ access: StoreAccess) {
        self.access = access
        switch access.permission.kind {
        case .proof(let proof): (session, start) = (proof.session, nil)
        case .prompt where access.store.rule.asks:
            if let reused = ReusableContexts.shared.find(access.store.place(link)) {
                (session, start) = (reused.session, nil)
            } else {
                (session, start) = (link.makeSession(lasting: access.store.rule.reuse), .now)
            }
        case .prompt, .silent: (session, start) = (nil, nil)
        }
    }

    /// Ends the context with its call.
    ///
    /// - Parameter hasShown: whether the call succeeded with an authentication in the context.
    func end(hasShown: Bool) {
        guard let session, let start else { return }
        if hasShown {
            ReusableContexts.shared.keep(session, since: start, for: access.store.place(session.link))
        } else {
            session.end()
        }
    }
}

extension SecretStore {
    fileprivate func place(_ link: KeychainLink) -> ReusableContexts.Place {
        ReusableContexts.Place(link, .store(StorePlace(self)), rule)
    }
}
