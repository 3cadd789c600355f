import Glibc
package import KeychainModel
import SecretMemory

/// Those who are told what changed, by all doors.
///
/// Nobody waits for one that does not read: what it missed is one mark, however much that was.
package final class Watchers: Sendable {
    private struct State {
        var watchers: [UInt64: Watcher] = [:]
        /// Whether a lockout may be over when the passcode is shown; also one that is older than the daemon.
        var mayBeLockedOut = true
        /// When somebody asked what asking would come to; who watches for that asks again within ten seconds.
        var lastQuestion: ContinuousClock.Instant?
    }

    /// How long a question says that somebody wants to know of the sensor.
    private static let questionAge = Duration.seconds(15)

    private let state = Guarded(State())
    private let arrival: AsyncStream<Void>.Continuation
    /// An element for each time that ``areAboutSensor`` may have become true; for one listener.
    package let arrivals: AsyncStream<Void>

    /// Nobody watches yet.
    package init() {
        (arrivals, arrival) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Whether anybody watches.
    package var isWatched: Bool { state.withLock { !$0.watchers.isEmpty } }

    /// Whether anybody watches who wants to know of the sensor: who only wants to hear what happens asks for nothing.
    package var areAboutSensor: Bool {
        state.withLock { state in
            guard !state.watchers.isEmpty, let last = state.lastQuestion else { return false }
            return .now - last < Self.questionAge
        }
    }

    /// Somebody asked what asking would come to.
    func noteQuestion() {
        state.withLock { $0.lastQuestion = .now }
        if isWatched { arrival.yield() }
    }

    /// Tells all of a change.
    package func tell(_ kind: KeychainChange.Kind) {
        let watchers = state.withLock { Array($0.watchers.values) }
        guard !watchers.isEmpty else { return }
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        let change = KeychainChange(kind, time: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
        for watcher in watchers { watcher.note(change) }
    }

    /// Tells all what a security event changed, if anything: never who asked, nor for what.
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

    func add(_ number: UInt64) -> Watcher? {
        state.withLock { state in
            guard state.watchers[number] == nil else { return nil }
            let watcher = Watcher()
            if state.watchers.isEmpty { arrival.yield() }
            state.watchers[number] = watcher
            return watcher
        }
    }

    func remove(_ number: UInt64) { state.withLock { _ = $0.watchers.removeValue(forKey: number) } }
}

extension KeychainChange.Kind {
    /// What an event changes for every program; nil for what is nobody else's business.
    fileprivate init?(_ event: AuditEvent.Kind) {
        switch event {
        case .keybagCreated, .passcodeChanged, .keybagRecovered: self = .passcode
        case .keybagUnlocked: self = .unlocked
        case .keybagLocked: self = .locked
        case .enrolmentChanged: self = .enrolment
        case .busLost: self = .sensor
        case .biometryLockedOut, .passcodeDelayed, .keybagClosed: self = .lockout
        case .itemsInvalidated: self = .invalidated
        case .assuranceLowered: self = .assurance
        case .tamperDetected: self = .tampering
        default: return nil
        }
    }
}

/// What one of them has not been told yet: at most ``ChangesReply/mostChanges`` changes, or that there were more.
final class Watcher: Sendable {
    private struct State {
        var changes: [KeychainChange] = []
        var isIncomplete = false
    }

    private let state = Guarded(State())
    private let signal: AsyncStream<Void>.Continuation
    /// An element for each time that there is something to take.
    let signals: AsyncStream<Void>

    init() {
        (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // The first reply says that changes are heard from now on.
        signal.yield()
    }

    func note(_ change: KeychainChange) {
        state.withLock { state in
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
    /// Tells what changes, from now on until the task is cancelled; one at a time for each visit.
    ///
    /// - Parameters:
    ///   - hasRoom: Whether something can be told without waiting; where it cannot, it is looked at again five times a second.
    ///   - tell: Tells it; false where nobody is there any more.
    /// - Throws: ``KeychainError`` `errSecBadReq` for a second one at the same time.
    package func watch(
        hasRoom: () -> Bool,
        _ tell: (ChangesReply) -> Bool
    ) async throws(KeychainError) {
        guard let watcher = desk.watchers.add(number) else { throw KeychainError(.badReq) }
        defer { desk.watchers.remove(number) }
        for await _ in watcher.signals {
            while !hasRoom() {
                guard (try? await Task.sleep(for: .milliseconds(200))) != nil else { return }
            }
            guard tell(watcher.take()) else { return }
        }
    }
}
