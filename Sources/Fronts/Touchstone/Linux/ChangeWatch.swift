internal import Foundation
internal import KeychainClient
internal import KeychainModel
internal import SecretMemory
internal import Threads

/// What changes in one keychain, as its daemon tells it, for all of this process that want to know: answers that were had
/// before, and those who listen.
///
/// It has a connection and a thread of its own, from the first question until nobody asked or listened for a minute.
final class ChangeWatch: Sendable {
    /// How old an answer may be: a display or a program that goes is told by nobody.
    static let longestAge = Duration.seconds(10)
    /// How often it is looked where the daemon tells nothing.
    static let lookInterval = Duration.seconds(2)
    /// The daemon tells of some changes just before they are made.
    private static let settlingTime = Duration.seconds(1)
    /// How long it goes on when nobody wants it.
    private static let idleTime = Duration.seconds(60)

    /// Hears what changed.
    typealias Listener = @Sendable (Happening) -> Void

    enum Happening: Sendable {
        /// The daemon tells what changed; look anew.
        case changes(ChangesReply)
        /// This process did something.
        case own(SecurityEvent)
    }

    /// A question that was answered.
    struct Question: Hashable {
        let demand: Authenticators
        let origin: PromptOrigin?
    }

    private struct Answer {
        let capability: Capability
        let end: ContinuousClock.Instant
    }

    private struct State {
        /// Ends the thread; nil while there is none.
        var running: Cancellation?
        /// Whether the daemon tells of changes now.
        var isHeard = false
        var answers: [Question: Answer] = [:]
        /// Grows with each change.
        var generation: UInt64 = 0
        var lastChange: ContinuousClock.Instant?
        var lastUse = ContinuousClock.now
        var listeners: [UInt64: Listener] = [:]
        var lastListener: UInt64 = 0
    }

    private static let all = Guarded<[ObjectIdentifier: ChangeWatch]>([:])

    /// Keeps its identity from becoming another one's.
    private let client: RemoteKeychain
    private let state = Guarded(State())

    private init(_ client: RemoteKeychain) { self.client = client }

    /// That of a keychain, which goes on until nobody wants it.
    static func of(_ client: RemoteKeychain) -> ChangeWatch {
        all.withLock { all in
            let key = ObjectIdentifier(client)
            if let watch = all[key] { return watch }
            let watch = ChangeWatch(client)
            all[key] = watch
            return watch
        }
    }

    /// Tells those who listen what this process did.
    static func tell(_ client: RemoteKeychain, _ event: @autoclosure () -> SecurityEvent) {
        guard let watch = all.withLock({ $0[ObjectIdentifier(client)] }) else { return }
        let listeners = watch.state.withLock { Array($0.listeners.values) }
        guard !listeners.isEmpty else { return }
        let happening = Happening.own(event())
        for listener in listeners { listener(happening) }
    }

    // MARK: Answers

    /// Whether the daemon tells of changes now.
    var isHeard: Bool { state.withLock(\.isHeard) }

    /// An answer that still holds; makes no system call.
    func answer(to question: Question) -> Capability? {
        state.withLock { state in
            let now = ContinuousClock.now
            state.lastUse = now
            guard state.isHeard, let answer = state.answers[question], now < answer.end else { return nil }
            return answer.capability
        }
    }

    /// A question is asked: what it is answered holds only if nothing changes meanwhile.
    func begin() -> UInt64 {
        runIfNeeded()
        return state.withLock { $0.isHeard ? $0.generation : .max }
    }

    /// Keeps an answer for as long as nothing changes.
    ///
    /// - Returns: how long it holds.
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

    /// Calls `listener` at each change, and for what this process does.
    ///
    /// - Returns: what ends that.
    static func listen(to client: RemoteKeychain, _ listener: @escaping Listener) -> @Sendable () -> Void {
        // With one hold on both, so that it does not end in between.
        let (watch, number) = all.withLock { all in
            let watch = all[ObjectIdentifier(client)] ?? ChangeWatch(client)
            all[ObjectIdentifier(client)] = watch
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
            // Where there is no daemon, or none any more, each question is asked of it anew.
            try? client.separate().watch(cancellation: cancellation) { self.hear($0) }
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
                let key = ObjectIdentifier(client)
                // Somebody may have begun anew.
                if all[key] === self, state.withLock({ $0.running == nil && $0.listeners.isEmpty }) {
                    all[key] = nil
                }
            }
            return
        }
        // What changes while the daemon is away is missed. Where it was away before, nobody is told of it again.
        if wasHeard { for listener in listeners { listener(.changes(ChangesReply(isIncomplete: true))) } }
        // The daemon may come back.
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
            // Writes to the socket, which may block.
            _ = WaitingThreads.shared.run { cancellation.cancel() }
        }
    }
}

extension KeychainLink {
    /// Tells those who listen what this process did.
    func tell(_ event: @autoclosure () -> SecurityEvent) { ChangeWatch.tell(client, event()) }

    /// Calls `listener` for what this process does and for what the daemon tells.
    ///
    /// - Returns: what ends that.
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
}

extension SecurityEvent {
    /// What the daemon told, as far as it belongs into a security log.
    init?(_ change: KeychainChange) {
        let kind: Kind
        switch change.kind {
        case .enrolment: kind = .enrolmentChanged
        case .lockout: kind = .lockout
        case .invalidated: kind = .invalidated
        case .assurance: kind = .assuranceChanged
        case .tampering: kind = .rolledBack
        case .passcode, .unlocked, .locked, .sensor, .lockoutEnd: return nil
        }
        self.init(kind, at: Date(timeIntervalSince1970: Double(change.time) / 1e6))
    }
}
