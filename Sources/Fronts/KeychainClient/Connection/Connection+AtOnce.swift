import KeychainModel
import Synchronization

/// Requests of threads that may not wait for long, such as those of Swift's pool: what is answered within a moment is taken there,
/// and the rest is waited for elsewhere.
extension Connection {
    /// Sends a request, unless that means to wait, and waits for its replies until `deadline` at most.
    ///
    /// - Returns: nil where nothing was sent.
    func begin<Body: WireBody & ~Copyable>(
        _ method: Method,
        _ body: borrowing Body,
        replies sink: any ReplySink,
        until deadline: ContinuousClock.Instant
    ) throws(KeychainError) -> BegunCall? {
        let hasPlace = monitor.change { state in
            guard !state.hasFailed, state.inFlight < Self.mostInFlight else { return false }
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

    /// Reads what arrives until a request is over, or leaves that to the thread that reads; until the deadline at most.
    private func look(for call: Call, until deadline: ContinuousClock.Instant) {
        while true {
            let turn = monitor.wait(until: deadline, unless: { false }) { state -> Turn? in
                if state.hasFailed || call.outcome != nil { return .ended(.success(())) }
                guard let receiver = state.receiver.take() else { return nil }
                return .read(receiver)
            }
            guard case .read(let receiver)? = consume turn else { return }
            guard read(receiver, until: call, deadline) else { return }
        }
    }

    /// - Returns: whether it is worth to look again.
    private func read(
        _ lent: consuming FrameReceiver,
        until call: Call,
        _ deadline: ContinuousClock.Instant
    ) -> Bool {
        var receiver = lent
        var isTimeLeft = true
        do {
            while isTimeLeft, !isOver(call) {
                switch try socket.receiveAtOnce(into: &receiver) {
                case .received: while let message = try receiver.next() { try handOut(message) }
                case .wouldBlock: isTimeLeft = socket.isReadable(until: deadline)
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

    /// Waits until the last reply is in; called once.
    func finish(_ cancellation: Cancellation?) throws(KeychainError) {
        hasFinished.store(true, ordering: .relaxed)
        try connection.finish(call, cancellation)
    }

    deinit {
        if !hasFinished.load(ordering: .relaxed) { connection.abandon(call) }
        connection.leave()
    }
}
