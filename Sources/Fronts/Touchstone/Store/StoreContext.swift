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
            if let reused = ReusableContexts.shared.find(access.store.place(link)) {
                (session, start) = (reused.session, nil)
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
