import KeychainModel
import SecretMemory

/// An event that other programs can trigger as often as they like: logged at once, then at most once per pause with the
/// number of occurrences since, so that it does not push other events out of the log.
final class RepeatedEvent: Sendable {
    private struct State {
        var lastTold: ContinuousClock.Instant?
        var untold = 0
    }

    private let kind: AuditEvent.Kind
    private let audit: any AuditLog
    private let pause: Duration
    private let state = Guarded(State())

    init(_ kind: AuditEvent.Kind, _ audit: any AuditLog, pause: Duration = .seconds(60)) {
        self.kind = kind
        self.audit = audit
        self.pause = pause
    }

    /// Records one occurrence.
    func record() {
        let (isDue, isFirst) = state.withLock { state in
            let now = ContinuousClock.now
            if state.untold == 0, state.lastTold.map({ $0 + pause <= now }) ?? true {
                state.lastTold = now
                return (true, false)
            }
            state.untold += 1
            return (false, state.untold == 1)
        }
        if isDue { audit.record(AuditEvent(kind)) }
        guard isFirst else { return }
        Task { [self] in
            try? await Task.sleep(for: pause)
            let count = state.withLock { state in
                defer { state.untold = 0 }
                state.lastTold = .now
                return state.untold
            }
            audit.record(AuditEvent(kind, detail: "\(count) more"))
        }
    }
}
