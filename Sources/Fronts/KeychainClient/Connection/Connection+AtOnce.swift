import Glibc
import KeychainModel
import Synchronization

/// Requests of threads that may not wait, such as those of Swift's pool: what is answered within a moment is taken there, by looking
/// for it again and again, and the rest is waited for elsewhere.
extension Connection {
    /// Sends a request, unless that means to wait, and looks for its replies until `deadline`.
    ///
    /// - Returns: nil where nothing was sent.
    func begin<Body: WireBody & ~Copyable>(
        _ method: Method,
        _ body: borrowing Body,
        replies sink: any ReplySink,
        until deadline: ContinuousClock.Instant
    ) throws(KeychainError) -> BegunCall? {
        let hasPlace = monitor.change { state in
            guard !state.hasFailed, state.inFlight < Self.mostBegun else { return false }
            state.inFlight += 1
            return true
        }
        guard hasPlace else { return nil }
        var isBegun = false
        defer { if !isBegun { leave() } }
        guard let call = try postAtOnce(method, body, to: sink) else { return nil }
        isBegun = true
        look(for: call, until: deadline)
        return BegunCall(self, call)
    }

    fileprivate func hasSucceeded(_ call: Call) -> Bool {
        monitor.inspect { _ in
            if call.isOver, case .success? = call.outcome { true } else { false }
        }
    }

    /// Gives the place of a request back.
    fileprivate func leave() { monitor.change { $0.inFlight -= 1 } }

    /// Has the daemon end a request that nobody waits for any more; its replies are dropped.
    ///
    /// Writes to the socket, which may block.
    fileprivate func abandon(_ call: Call) {
        let isUnderWay = monitor.change { state in
            call.sink = nil
            if call.isOver { state.calls[call.id] = nil }
            return !call.isOver
        }
        if isUnderWay { cancel(call.id) }
    }

    /// What a thread that looks for a reply does next.
    private enum Look: ~Copyable {
        /// The request is over, or can have no reply any more.
        case over
        /// Another thread reads.
        case pass
        case read(FrameReceiver)
    }

    /// Reads what arrives until a request is over, or leaves that to the thread that reads; without waiting, until the deadline.
    private func look(for call: Call, until deadline: ContinuousClock.Instant) {
        let pause = Pause(until: deadline)
        repeat {
            let look = monitor.wait { state -> Look? in
                if state.hasFailed || call.outcome != nil { return .over }
                guard let receiver = state.receiver.take() else { return .pass }
                return .read(receiver)
            }
            switch consume look {
            case .over: return
            case .pass: break
            case .read(let receiver):
                guard read(receiver, until: call, pause) else { return }
            }
        } while pause.isTaken()
    }

    /// - Returns: whether it is worth to look again.
    private func read(_ lent: consuming FrameReceiver, until call: Call, _ pause: Pause) -> Bool {
        var receiver = lent
        var isTimeLeft = true
        do {
            while isTimeLeft, !isOver(call) {
                switch try socket.receiveAtOnce(into: &receiver) {
                case .received: while let message = try receiver.next() { try handOut(message) }
                case .wouldBlock: isTimeLeft = pause.isTaken()
                case .closed: throw WireError.closed
                }
            }
        } catch WireError.noLockedMemory {
            // Who may wait for some tries again.
            isTimeLeft = false
        } catch {
            fail(error)
        }
        giveBack(receiver)
        return isTimeLeft
    }
}

/// The time between two looks of a thread that may not sleep.
private struct Pause {
    private let deadline: ContinuousClock.Instant
    /// From when on others get the processor in between: before, the daemon is about to answer on another one.
    private let politeness: ContinuousClock.Instant

    init(until deadline: ContinuousClock.Instant) {
        self.deadline = deadline
        politeness = .now + .microseconds(40)
    }

    /// - Returns: false at the deadline.
    func isTaken() -> Bool {
        let now = ContinuousClock.now
        guard now < deadline else { return false }
        if now >= politeness { sched_yield() }
        return true
    }
}

/// A request that was sent, and may not be answered yet.
final class BegunCall: Sendable {
    private let connection: Connection
    private let call: Connection.Call
    private let hasFinished = Atomic<Bool>(false)

    init(_ connection: Connection, _ call: Connection.Call) {
        self.connection = connection
        self.call = call
    }

    /// Whether all replies are in, and tell of success: ``finish(_:)`` does not wait then.
    var hasSucceeded: Bool { connection.hasSucceeded(call) }

    /// Has the next request of a keychain connect anew.
    func retire(from keychain: RemoteKeychain) { keychain.retire(connection) }

    /// Waits until the last reply is in; called once.
    func finish(_ cancellation: Cancellation?) throws(KeychainError) {
        hasFinished.store(true, ordering: .relaxed)
        // Given back here: what follows in the same call needs a place too.
        defer { connection.leave() }
        try connection.finish(call, cancellation)
    }

    deinit {
        guard !hasFinished.load(ordering: .relaxed) else { return }
        connection.abandon(call)
        connection.leave()
    }
}
