import KeychainModel

@testable import AuthenticationEngine

/// Breadth-first search through a session's states, with every event in each.
struct SessionExplorer {
    /// A transition.
    enum Step: Sendable {
        /// The session handles an event; `isSaved` says whether the store can save a count that follows.
        case event(SessionEvent, isSaved: Bool)
        /// A day passes.
        case later
    }

    /// A visited state, and the path to it.
    private final class Place {
        var session: AuthenticationSession
        let witness: SessionWitness
        let now: BootTime
        let former: Place?
        let step: Step?

        init(
            _ session: consuming AuthenticationSession,
            _ witness: SessionWitness,
            at now: BootTime,
            from former: Place? = nil,
            by step: Step? = nil
        ) {
            self.session = session
            self.witness = witness
            self.now = now
            self.former = former
            self.step = step
        }

        var path: String {
            let steps = sequence(first: self) { $0.former }.compactMap(\.step)
            return steps.reversed().map { "\($0)" }.joined(separator: "\n  ")
        }
    }

    let setup: SessionSetup
    /// The number of visited states, including the first.
    private(set) var stateCount = 0
    private(set) var stepCount = 0
    /// The distance of the farthest visited state, and whether none is farther.
    private(set) var depth = 0
    private(set) var isWhole = false
    /// The ends that were reached: factors, or the error's code.
    private(set) var ends: Set<String> = []
    /// The first broken invariant, and the shortest path to it.
    private(set) var fault: String?

    init(_ setup: SessionSetup) { self.setup = setup }

    /// Explores up to `limit` steps from the start.
    mutating func explore(to limit: Int) {
        var found: Set<SessionState> = []
        let start = Place(
            AuthenticationSession(setup),
            SessionWitness(setup.record),
            at: BootTime(bootID: "one", nanoseconds: 86_400_000_000_000)
        )
        guard let first = take(.started, isSaved: true, from: start).place else { return }
        found.insert(SessionState(first.session, first.witness, at: first.now))
        var places = [first]
        while !places.isEmpty, depth < limit {
            depth += 1
            var farther: [Place] = []
            for place in places {
                for next in steps(from: place) {
                    let state = SessionState(next.session, next.witness, at: next.now)
                    if found.insert(state).inserted { farther.append(next) }
                }
                if fault != nil { return }
            }
            places = farther
        }
        stateCount = found.count
        isWhole = places.isEmpty
    }

    /// The successors of a state for every event, also with a store that fails to save a requested count.
    private mutating func steps(from place: Place) -> [Place] {
        var places: [Place] = []
        for event in Self.events(place.session.boxCount, place.session.waitCount) {
            let saved = take(event, isSaved: true, from: place)
            if let next = saved.place { places.append(next) }
            guard saved.isCounting, fault == nil else { continue }
            if let next = take(event, isSaved: false, from: place).place { places.append(next) }
        }
        let tomorrow = place.now.advanced(by: .seconds(86_400))
        places.append(Place(place.session.copy(), place.witness, at: tomorrow, from: place, by: .later))
        stepCount += places.count
        return places
    }

    /// All events, for a session whose last prompt and last wait have these numbers.
    static func events(_ box: Int, _ wait: Int) -> [SessionEvent] {
        let missing = KeychainError(.notAvailable, cause: .missingHardware)
        return [
            .enrolment(.ready), .enrolment(.changed),
            .enrolment(.failed(AuthenticationError(.biometryNotEnrolled))),
            .elapsed(wait), .elapsed(wait - 1),
            .shown(box: box, on: SessionState.here), .shown(box: box, on: SessionState.there),
            .shown(box: box, on: nil), .shown(box: box - 1, on: SessionState.here),
            .answered(box: box, .passcode), .answered(box: box, .samePasscode),
            .answered(box: box, .unusable), .answered(box: box, .fallback(0)),
            .answered(box: box, .cancelled), .answered(box: box, .timedOut),
            .answered(box: box, .failed(PromptError(.prompterFailed))),
            .answered(box: box - 1, .passcode),
            .claimed, .sensor(.armed), .sensor(.finger("left-thumb")), .sensor(.fingerPresent),
            .sensor(.retry("verify-retry-scan")), .verdict(.match), .verdict(.noMatch),
            .unseenMatch,
            .sensorFailed(FingerprintError(.cancelled)), .sensorFailed(FingerprintError(.alreadyInUse)),
            .sensorFailed(FingerprintError(.noSuchDevice)),
            .opened, .wrong, .openFailed(missing), .openFailed(KeychainError(.io)),
            .enrolmentChanged, .interrupted(.appCancelled), .interrupted(.suspended), .interrupted(.locked),
        ]
    }

    /// Applies an event to a session; no place if that breaks an invariant.
    private mutating func take(
        _ event: SessionEvent,
        isSaved: Bool,
        from place: Place
    ) -> (place: Place?, isCounting: Bool) {
        var session = place.session.copy()
        var witness = place.witness
        witness.note(event)
        let actions = session.handle(event, at: place.now)
        let isCounting = actions.contains { if case .count = $0 { true } else { false } }
        var broken = witness.obey(actions, for: event, of: setup, saves: isSaved)
        if broken == nil, !isSaved {
            let refused = SessionEvent.notSaved(KeychainError(.diskFull))
            let more = session.handle(refused, at: place.now)
            broken = witness.obey(more, for: refused, of: setup, saves: true)
        }
        broken = broken ?? witness.differences(from: session)
        let next = Place(session, witness, at: place.now, from: place, by: .event(event, isSaved: isSaved))
        if let broken {
            fault = fault ?? "\(broken)\n  \(next.path)"
            return (nil, isCounting)
        }
        for action in actions {
            switch action {
            case .succeed(let factors): ends.insert(factors.map { "\($0)" }.sorted().joined(separator: "+"))
            case .fail(let error): ends.insert("\(error.code.rawValue) \(error.cause?.code ?? "")")
            default: break
            }
        }
        return (next, isCounting)
    }
}
