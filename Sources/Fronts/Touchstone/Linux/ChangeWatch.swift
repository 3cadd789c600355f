internal import Foundation
internal import KeychainClient
internal import KeychainModel
internal import SecretMemory
internal import Threads

/// The changes of one keychain, as its daemon reports them: invalidates cached capabilities and notifies listeners.
///
/// It has a connection and a thread of its own, from the first question until there was no question and no listener for a
/// minute.
final class ChangeWatch: Sendable {
    /// The maximum age of a cached capability: nothing reports a display or program that goes away.
    static let longestAge = Duration.seconds(10)
    /// The polling interval if the daemon reports no changes.
    static let lookInterval = Duration.seconds(2)
    /// The daemon reports some changes just before they take effect, so answers from this time are cached no
    /// longer than it.
    private static let settlingTime = Duration.seconds(1)
    /// How long the thread runs without questions and listeners.
    private static let idleTime = Duration.seconds(60)

    /// Receives changes and events.
    typealias Listener = @Sendable (Happening) -> Void

    enum Happening: Sendable {
        /// The daemon reported changes: read the state again.
        case changes(ChangesReply)
        /// An event of this process.
        case own(SecurityEvent)
    }

    /// The key of a cached capability.
    struct Question: Hashable {
        let demand: Authenticators
        let origin: PromptOrigin?
    }

    private struct Answer {
        let capability: Capability
        let end: ContinuousClock.Instant
    }

    private struct State {
        /// Ends the thread; nil while it does not run.
        var running: Cancellation?
        /// Whether the daemon is reporting changes now.
        var isHeard = false
        var answers: [Question: Answer] = [:]
        /// Incremented at each change.
        var generation: UInt64 = 0
        var lastChange: ContinuousClock.Instant?
        var lastUse = ContinuousClock.now
        var listeners: [UInt64: Listener] = [:]
        var lastListener: UInt64 = 0
    }

    /// What is watched: a keychain, and whether its items too, which has a connection of its own.
    private struct Place: Hashable {
        let client: ObjectIdentifier
        let tellsItems: Bool

        init(_ client: RemoteKeychain, tellsItems: Bool = false) {
            self.client = ObjectIdentifier(client)
            self.tellsItems = tellsItems
        }
    }

    private static let all = Guarded<[Place: ChangeWatch]>([:])

    /// Retained so that its `ObjectIdentifier` is not reused.
    private let client: RemoteKeychain
    private let place: Place
    private let state = Guarded(State())

    private init(_ client: RemoteKeychain, _ place: Place) { (self.client, self.place) = (client, place) }

    /// The watch of a keychain, made if there is none; it is removed when it is idle.
    static func of(_ client: RemoteKeychain) -> ChangeWatch {
        all.withLock { all in
            let place = Place(client)
            if let watch = all[place] { return watch }
            let watch = ChangeWatch(client, place)
            all[place] = watch
            return watch
        }
    }

    /// Sends an event of this process to the listeners.
    static func tell(_ client: RemoteKeychain, _ event: @autoclosure () -> SecurityEvent) {
        guard let watch = all.withLock({ $0[Place(client)] }) else { return }
        let listeners = watch.state.withLock { Array($0.listeners.values) }
        guard !listeners.isEmpty else { return }
        let happening = Happening.own(event())
        for listener in listeners { listener(happening) }
    }

    // MARK: Answers

    /// Whether the daemon is reporting changes now.
    var isHeard: Bool { state.withLock(\.isHeard) }

    /// A cached answer that is still valid; makes no system call.
    func answer(to question: Question) -> Capability? {
        state.withLock { state in
            let now = ContinuousClock.now
            state.lastUse = now
            guard state.isHeard, let answer = state.answers[question], now < answer.end else { return nil }
            return answer.capability
        }
    }

    /// Starts a question: returns the generation, with which ``keep(_:for:since:)`` detects changes during
    /// the question.
    func begin() -> UInt64 {
        runIfNeeded()
        return state.withLock { $0.isHeard ? $0.generation : .max }
    }

    /// Caches an answer until the next change.
    ///
    /// - Returns: how long the answer is valid.
    @discardableResult
    func keep(_ capability: Capability, for question: Question, since generation: UInt64) -> Duration {
        state.withLock { state in
            guard state.isHeard else { return Self.lookInterval }
            let now = ContinuousClock.now
            var age = min(Self.longestAge, capability.obstacle?.retryAfter ?? Self.longestAge)
            if let last = state.lastChange, now - last < Self.settlingTime {
                age = min(age, Self.settlingTime - (now - last))
            }
            guard state.generation == generation else { return .zero }
            state.answers[question] = Answer(capability: capability, end: now + age)
            return age
        }
    }

    // MARK: Listening

    /// Calls `listener` for each change and for each event of this process; with `tellsItems` for changes only, those of this program's
    /// items included.
    ///
    /// - Returns: a closure that removes the listener.
    static func listen(
        to client: RemoteKeychain,
        tellsItems: Bool = false,
        _ listener: @escaping Listener
    ) -> @Sendable () -> Void {
        let place = Place(client, tellsItems: tellsItems)
        // Hold both locks, so that the watch is not removed in between.
        let (watch, number) = all.withLock { all in
            let watch = all[place] ?? ChangeWatch(client, place)
            all[place] = watch
            let number = watch.state.withLock { state in
                state.lastListener += 1
                state.listeners[state.lastListener] = listener
                return state.lastListener
            }
            return (watch, number)
        }
        watch.runIfNeeded()
        return { watch.state.withLock { _ = $0.listeners.removeValue(forKey: number) } }
    }

    // MARK: The thread

    private func runIfNeeded() {
        let cancellation = Cancellation()
        let isDue = state.withLock { state in
            guard state.running == nil else { return false }
            state.running = cancellation
            return true
        }
        guard isDue else { return }
        let failure = BlockingThread.start { [self] in
            // If the daemon is not running or exits, the thread ends and each question is sent to the daemon
            // again.
            try? client.separate().watch(tellsItems: place.tellsItems, cancellation: cancellation) {
                self.hear($0)
            }
            ended()
        }
        guard failure == 0 else { return ended() }
        endWhenIdle(cancellation)
    }

    private func hear(_ changes: ChangesReply) {
        let listeners = state.withLock { state in
            let isFirst = !state.isHeard
            state.isHeard = true
            state.answers = [:]
            state.generation += 1
            if !isFirst { state.lastChange = .now }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener(.changes(changes)) }
    }

    private func ended() {
        let (wasHeard, listeners) = state.withLock { state in
            defer { (state.running, state.isHeard, state.answers) = (nil, false, [:]) }
            state.generation += 1
            return (state.isHeard, Array(state.listeners.values))
        }
        guard !listeners.isEmpty else {
            Self.all.withLock { all in
                // Another thread may have started the watch again.
                if all[place] === self, state.withLock({ $0.running == nil && $0.listeners.isEmpty }) {
                    all[place] = nil
                }
            }
            return
        }
        // Changes while the daemon is away are lost: report that once, when the connection is lost.
        if wasHeard { for listener in listeners { listener(.changes(ChangesReply(isIncomplete: true))) } }
        // Try again: the daemon may be started.
        _ = Timers.after(Self.lookInterval) {
            if self.state.withLock({ !$0.listeners.isEmpty }) { self.runIfNeeded() }
        }
    }

    private func endWhenIdle(_ cancellation: Cancellation) {
        _ = Timers.after(Self.idleTime) {
            let isIdle = self.state.withLock { state in
                state.listeners.isEmpty && ContinuousClock.now - state.lastUse >= Self.idleTime
            }
            guard isIdle else {
                if self.state.withLock({ $0.running === cancellation }) { self.endWhenIdle(cancellation) }
                return
            }
            // Cancelling writes to the socket, which may block.
            _ = WaitingThreads.shared.run { cancellation.cancel() }
        }
    }
}

extension KeychainLink {
    /// Sends an event of this process to the listeners.
    func tell(_ event: @autoclosure () -> SecurityEvent) { ChangeWatch.tell(client, event()) }

    /// Calls `listener` for events of this process and for changes that the daemon reports.
    ///
    /// - Returns: a closure that removes the listener.
    func listen(_ listener: @escaping @Sendable (SecurityEvent) -> Void) -> @Sendable () -> Void {
        ChangeWatch.listen(to: client) { happening in
            switch happening {
            case .own(let event): listener(event)
            case .changes(let changes):
                if changes.isIncomplete { listener(SecurityEvent(.missed)) }
                for event in changes.changes.compactMap(SecurityEvent.init) { listener(event) }
            }
        }
    }

    /// Calls `listener` when items of this program or of its groups may have changed, and as soon as the daemon reports changes.
    ///
    /// - Returns: a closure that removes the listener.
    func listenToItems(_ listener: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        ChangeWatch.listen(to: client, tellsItems: true) { _ in listener() }
    }
}

extension SecurityEvent {
    /// The event for a change that the daemon reported; nil for a change that is no security event.
    init?(_ change: KeychainChange) {
        let kind: Kind
        switch change.kind {
        case .enrolment: kind = .enrolmentChanged
        case .lockout: kind = .lockout
        case .invalidated: kind = .invalidated
        case .assurance: kind = .assuranceChanged
        case .tampering: kind = .rolledBack
        case .passcode, .unlocked, .locked, .sensor, .lockoutEnd, .items: return nil
        }
        self.init(kind, at: Date(timeIntervalSince1970: Double(change.time) / 1e6))
    }
}
