import Glibc
package import KeychainModel
import SecretMemory

/// The visits that are notified of changes, through all doors.
///
/// A slow reader delays no other: all changes it missed become one mark.
package final class Watchers: Sendable {
    private struct State {
        var watchers: [UInt64: Watcher] = [:]
        /// Whether a right passcode may end a lockout, including one from before the daemon's start.
        var mayBeLockedOut = true
        /// When an app last asked whether a policy can be evaluated; an app that observes this asks again within ten
        /// seconds.
        var lastQuestion: ContinuousClock.Instant?
    }

    /// How long such a question shows interest in the sensor.
    private static let questionAge = Duration.seconds(15)

    private let state = Guarded(State())
    private let arrival: AsyncStream<Void>.Continuation
    /// Yields whenever ``areAboutSensor`` may have become true; for one listener.
    package let arrivals: AsyncStream<Void>

    /// Creates an empty set of watchers.
    package init() {
        (arrivals, arrival) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Whether any visit watches.
    package var isWatched: Bool { state.withLock { !$0.watchers.isEmpty } }

    /// Whether a watcher is interested in the sensor: one that only observes events asks no questions.
    package var areAboutSensor: Bool {
        state.withLock { state in
            guard !state.watchers.isEmpty, let last = state.lastQuestion else { return false }
            return .now - last < Self.questionAge
        }
    }

    /// Records that an app asked whether a policy can be evaluated.
    func noteQuestion() {
        state.withLock { $0.lastQuestion = .now }
        if isWatched { arrival.yield() }
    }

    /// Notifies all watchers of a change.
    package func tell(_ kind: KeychainChange.Kind) {
        tell(kind, to: state.withLock { Array($0.watchers.values) })
    }

    private func tell(_ kind: KeychainChange.Kind, to watchers: [Watcher]) {
        guard !watchers.isEmpty else { return }
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        let change = KeychainChange(kind, time: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
        for watcher in watchers { watcher.note(change) }
    }

    /// Notifies those that watch items of one of the groups, and may use it; nil for every group.
    func tellItems(in groups: [AccessGroup]?) {
        let watchers = state.withLock { state in
            state.watchers.values.filter { watcher in
                watcher.groups.map { own in groups?.contains(where: own.contains) ?? true } ?? false
            }
        }
        tell(.items, to: watchers)
    }

    /// Notifies all watchers of the change behind a security event, if any; neither the caller nor the purpose is
    /// revealed.
    package func tell(of event: AuditEvent) {
        let isLockoutOver = state.withLock { state in
            switch event.kind {
            case .biometryLockedOut, .passcodeDelayed, .keybagClosed: state.mayBeLockedOut = true
            case .authenticationSucceeded where event.factors.contains(.passcode), .keybagUnlocked,
                .keybagRecovered:
                defer { state.mayBeLockedOut = false }
                return state.mayBeLockedOut
            default: break
            }
            return false
        }
        if let kind = KeychainChange.Kind(event.kind) { tell(kind) }
        if isLockoutOver { tell(.lockoutEnd) }
    }

    /// Adds a watcher; with groups, it is notified of changes of their items too.
    ///
    /// - Returns: nil for a number that watches already.
    func add(_ number: UInt64, itemsOf groups: [AccessGroup]? = nil) -> Watcher? {
        state.withLock { state in
            guard state.watchers[number] == nil else { return nil }
            let watcher = Watcher(itemsOf: groups)
            if state.watchers.isEmpty { arrival.yield() }
            state.watchers[number] = watcher
            return watcher
        }
    }

    func remove(_ number: UInt64) { state.withLock { _ = $0.watchers.removeValue(forKey: number) } }
}

extension KeychainChange.Kind {
    /// The change that all programs may learn of from an event; nil if there is none.
    fileprivate init?(_ event: AuditEvent.Kind) {
        switch event {
        case .keybagCreated, .passcodeChanged, .keybagRecovered: self = .passcode
        case .keybagUnlocked: self = .unlocked
        case .keybagLocked, .keybagPutAside: self = .locked
        case .enrolmentChanged: self = .enrolment
        case .busLost, .fingersSwitched: self = .sensor
        case .biometryLockedOut, .passcodeDelayed, .keybagClosed: self = .lockout
        case .itemsInvalidated: self = .invalidated
        case .assuranceLowered: self = .assurance
        case .tamperDetected: self = .tampering
        default: return nil
        }
    }
}

/// The changes not yet sent to one watcher: at most ``ChangesReply/mostChanges``, or a mark that there were more.
final class Watcher: Sendable {
    private struct State {
        var changes: [KeychainChange] = []
        var isIncomplete = false
    }

    private let state = Guarded(State())
    private let signal: AsyncStream<Void>.Continuation
    /// Yields when there is a change to take.
    let signals: AsyncStream<Void>
    /// The groups whose items it watches; nil if it watches none.
    let groups: [AccessGroup]?

    init(itemsOf groups: [AccessGroup]? = nil) {
        self.groups = groups
        (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // The first reply confirms that changes are reported from now on.
        signal.yield()
    }

    func note(_ change: KeychainChange) {
        state.withLock { state in
            // Each change of items too: who counts its own changes must not miss another's among them.
            if state.isIncomplete || state.changes.count == ChangesReply.mostChanges {
                state = State(isIncomplete: true)
            } else {
                state.changes.append(change)
            }
        }
        signal.yield()
    }

    func take() -> ChangesReply {
        state.withLock { state in
            defer { state = State() }
            return ChangesReply(isIncomplete: state.isIncomplete, changes: state.changes)
        }
    }
}

/// Watching.
extension Visit {
    /// Reports changes until the task is cancelled; one call at a time for each visit.
    ///
    /// - Parameters:
    ///   - request: What to report.
    ///   - hasRoom: Whether a reply can be sent without waiting; if not, it is checked again five times a second.
    ///   - tell: Sends a reply; returns false if the client is gone.
    /// - Throws: ``KeychainError`` `errSecBadReq` for a second concurrent call, `errSecNotAvailable` if the program that watches items
    ///   could not be looked up.
    package func watch(
        _ request: WatchRequest,
        hasRoom: () -> Bool,
        _ tell: (ChangesReply) -> Bool
    ) async throws(KeychainError) {
        let groups = request.tellsItems ? try groups.all : nil
        guard let watcher = desk.watchers.add(number, itemsOf: groups) else { throw KeychainError(.badReq) }
        defer { desk.watchers.remove(number) }
        for await _ in watcher.signals {
            while !hasRoom() {
                guard (try? await Task.sleep(for: .milliseconds(200))) != nil else { return }
            }
            guard tell(watcher.take()) else { return }
        }
    }
}
