import Glibc
import KeychainModel
import Synchronization

/// Requests of threads that must not block, such as those of Swift's pool: the thread polls for the reply for a short time; for a
/// later reply, another thread waits.
extension Connection {
    /// Sends a request if that does not block, and polls for its replies until `deadline`.
    ///
    /// - Returns: nil if nothing was sent.
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

    /// Releases a request's place in flight.
    fileprivate func leave() { monitor.change { $0.inFlight -= 1 } }

    /// Cancels a request without a waiting thread; drops its replies.
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

    /// The next step of a thread that polls for a reply.
    private enum Look: ~Copyable {
        /// The request has ended, or cannot get another reply.
        case over
        /// Another thread is reading.
        case pass
        case read(FrameReceiver)
    }

    /// Reads until a request has ended, unless another thread is reading; polls without blocking, until the deadline.
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

    /// - Returns: whether to poll again.
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
            // A thread that may wait for locked memory tries again.
            isTimeLeft = false
        } catch {
            fail(error)
        }
        giveBack(receiver)
        return isTimeLeft
    }
}

/// The pause between two polls of a thread that must not sleep.
private struct Pause {
    private let deadline: ContinuousClock.Instant
    /// When to start yielding the processor; before that, the daemon is probably about to reply from another
    /// processor.
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

/// A request that was sent and may still be unanswered.
final class BegunCall: Sendable {
    private let connection: Connection
    private let call: Connection.Call
    private let hasFinished = Atomic<Bool>(false)

    init(_ connection: Connection, _ call: Connection.Call) {
        self.connection = connection
        self.call = call
    }

    /// Whether all replies have arrived and report success: ``finish(_:)`` then does not block.
    var hasSucceeded: Bool { connection.hasSucceeded(call) }

    /// Makes the next request of a keychain reconnect.
    func retire(from keychain: RemoteKeychain) { keychain.retire(connection) }

    /// Waits for the last reply; may be called once.
    func finish(_ cancellation: Cancellation?) throws(KeychainError) {
        hasFinished.store(true, ordering: .relaxed)
        // Release the place here: later requests of the same call need one too.
        defer { connection.leave() }
        try connection.finish(call, cancellation)
    }

    deinit {
        guard !hasFinished.load(ordering: .relaxed) else { return }
        connection.abandon(call)
        connection.leave()
    }
}
