import CBOR
import Glibc
import KeychainModel
import SecretMemory

/// A connection to the daemon, shared by any number of threads.
///
/// It has no thread of its own: a thread that waits for its reply reads the socket if no other thread does,
/// and delivers other threads' replies to them; once its own reply has arrived, another waiting thread takes
/// over.
final class Connection: Sendable {
    /// The maximum number of requests in flight; the daemon allows 32, and cancelling needs places too.
    static let mostInFlight = 24
    private static let helloID: UInt64 = 1

    struct State: ~Copyable {
        /// Nil while a thread reads.
        var receiver: FrameReceiver?
        var calls: [UInt64: Call] = [:]
        /// The error that ended the connection.
        var failure: KeychainError?
        var inFlight = 0

        /// Checked for each call, so it avoids copying the error.
        var hasFailed: Bool {
            if case .some = failure { true } else { false }
        }

        mutating func prepareReceiver() throws(KeychainError) {
            guard var receiver = receiver.take() else { return }
            do throws(WireError) {
                try receiver.prepare()
                self.receiver = consume receiver
            } catch {
                self.receiver = consume receiver
                throw .unintelligible(error)
            }
        }

        mutating func fail(_ error: KeychainError) {
            if !hasFailed { failure = error }
        }

        mutating func note(_ outcome: Result<Void, KeychainError>?, of call: Call, isOver: Bool) {
            guard call.sink != nil else {
                if isOver { calls[call.id] = nil }
                return
            }
            // Keep the outcome of a request that was given up, whatever replies follow.
            if call.outcome == nil { call.outcome = outcome }
            call.isOver = isOver
        }

        mutating func takeOutcome(of call: Call) -> Turn? {
            if let outcome = call.outcome {
                if call.isOver {
                    calls[call.id] = nil
                    return .ended(outcome)
                }
                call.sink = nil
                if case .failure(let error) = outcome { return .givenUp(error) }
                return .ended(outcome)
            }
            guard let failure else { return nil }
            calls[call.id] = nil
            return .ended(.failure(failure))
        }
    }

    /// A request that was sent.
    final class Call: @unchecked Sendable {  // what changes of it is the monitor's
        let id: UInt64
        /// Nil if no thread waits: replies are dropped.
        var sink: (any ReplySink)?
        var outcome: Result<Void, KeychainError>?
        /// Whether the last reply has arrived.
        var isOver = false
        /// Receives the misses at the request's prompts.
        let onMiss: (@Sendable (MissedTouch) -> Void)?

        init(id: UInt64, sink: (any ReplySink)?) {
            self.id = id
            self.sink = sink
            onMiss = sink == nil ? nil : MissedTouch.listener?.tell
        }
    }

    /// The next step of a waiting thread.
    enum Turn: ~Copyable {
        case ended(Result<Void, KeychainError>)
        /// The call has failed; its remaining replies are dropped.
        case givenUp(KeychainError)
        case read(FrameReceiver)
    }

    let socket: DaemonSocket
    /// One byte that is 1 in this process and 0 in a forked child, where locked memory is zeroed.
    private let ownMark: SecretBytes
    let monitor: Monitor<State>
    /// The last id sent; locked while a frame is written, because ids must increase on the wire.
    private let lastID: Guarded<UInt64>

    /// Sends the greeting to the daemon connected to `socket`; does not wait for its reply.
    ///
    /// - Throws: ``DaemonAbsence`` if the daemon exited before its greeting, ``KeychainError``, ``SecretMemoryError``.
    init(_ socket: consuming DaemonSocket) throws {
        ownMark = try SecretBytes(lockedCount: 1) { $0[0] = 1 }
        var receiver = FrameReceiver()
        let greeting = try socket.greeting(&receiver)
        self.socket = socket
        monitor = Monitor(State(receiver: receiver))
        lastID = Guarded(0)
        guard try post(.hello, Hello(nonce: greeting.nonce), to: nil) != nil else {
            throw KeychainError.connectionLost("hung up")
        }
    }

    /// Whether this connection is expected to take another request: this process opened it, and it has not
    /// failed.
    var isUsable: Bool { isOwn && monitor.inspect { !$0.hasFailed } }

    /// Whether the daemon has closed its end.
    var isHungUp: Bool { socket.isHungUp }

    /// Whether this process opened the connection: a forked child must not use its parent's.
    private var isOwn: Bool { ownMark.withOctets { $0[0] == 1 } }

    /// Sends a request and waits for its last reply.
    ///
    /// - Returns: false if the daemon closed the connection before it received the complete request, so that it
    ///   did not process it.
    func call<Body: WireBody & ~Copyable>(
        _ method: Method,
        _ body: borrowing Body,
        replies sink: any ReplySink,
        cancellation: Cancellation?
    ) throws(KeychainError) -> Bool {
        monitor.wait { state in
            guard state.hasFailed || state.inFlight < Self.mostInFlight else { return Void?.none }
            state.inFlight += 1
            return ()
        }
        defer { monitor.change { $0.inFlight -= 1 } }
        guard let call = try post(method, body, to: sink) else { return false }
        cancellation?.attach(self, id: call.id)
        defer { cancellation?.detach(self, id: call.id) }
        try wait(for: call).get()
        return true
    }

    /// Asks the daemon to cancel a request; the request's own thread gets the reply.
    func cancel(_ id: UInt64) {
        guard isOwn else { return }
        // If the connection was lost, the request has already ended.
        _ = try? post(.cancel, CancelRequest(id: id), to: nil)
    }

    /// - Returns: nil if the daemon closed the connection.
    private func post<Body: WireBody & ~Copyable>(
        _ method: Method,
        _ body: borrowing Body,
        to sink: (any ReplySink)?
    ) throws(KeychainError) -> Call? {
        try lastID.withLock { lastID throws(KeychainError) in
            try post(method, body, to: sink, after: &lastID)
        }
    }

    private func post<Body: WireBody & ~Copyable>(
        _ method: Method,
        _ body: borrowing Body,
        to sink: (any ReplySink)?,
        after lastID: inout UInt64
    ) throws(KeychainError) -> Call? {
        let id = lastID + 1
        let message: SecretBuffer
        do throws(SecretMemoryError) {
            message = try RequestHead(id: id, method: method).message(body)
        } catch {
            throw KeychainError(error)
        }
        guard message.count <= Frame.longest else { throw KeychainError(.dataTooLarge) }
        let call = Call(id: id, sink: sink)
        try monitor.change { state throws(KeychainError) in
            if let failure = state.failure { throw failure }
            // If another thread is reading, it has already prepared the receiver.
            try state.prepareReceiver()
            state.calls[id] = call
        }
        do throws(WireError) {
            try socket.send(message)
            lastID = id
        } catch {
            let failure = KeychainError.connectionLost("\(error)")
            monitor.change { state in
                state.calls[id] = nil
                state.fail(failure)
            }
            // Wake the reading thread too.
            socket.shutDown()
            if error == .system(errno: EPIPE) { return nil }
            throw failure
        }
        return call
    }

    private func wait(for call: Call) -> Result<Void, KeychainError> {
        while true {
            let turn = monitor.wait { state -> Turn? in
                if let ended = state.takeOutcome(of: call) { return ended }
                guard let receiver = state.receiver.take() else { return nil }
                return .read(receiver)
            }
            switch consume turn {
            case .ended(let outcome): return outcome
            case .givenUp(let error):
                cancel(call.id)
                return .failure(error)
            case .read(let receiver): read(receiver, until: call)
            }
        }
    }

    /// Reads and delivers replies until `call` has its outcome, then returns the receiver for the next
    /// thread.
    private func read(_ lent: consuming FrameReceiver, until call: Call) {
        var receiver = lent
        do {
            while !isOver(call) {
                guard try socket.receive(into: &receiver) else { throw WireError.closed }
                while let message = try socket.next(&receiver) { try handOut(message) }
            }
        } catch {
            fail(error)
        }
        giveBack(receiver)
    }

    /// Whether a request has its outcome or can no longer get one.
    private func isOver(_ call: Call) -> Bool { monitor.inspect { $0.hasFailed || call.outcome != nil } }

    /// Ends the connection after an error.
    private func fail(_ error: any Error) {
        let failure = KeychainError.broken(by: error)
        monitor.change { $0.fail(failure) }
        socket.shutDown()
    }

    /// Returns the receiver for the next thread that reads.
    private func giveBack(_ lent: consuming FrameReceiver) {
        var receiver: FrameReceiver? = lent
        monitor.change { $0.receiver = receiver.take() }
    }

    /// Delivers a reply to its request.
    private func handOut(_ message: consuming ReceivedMessage) throws {
        // The body of a successful reply is decoded once, by its sink.
        let (head, bodyStart) = try message.readBeginning { (try ReplyHead(from: &$0), $0.offset) }
        let failure = head.status == .success ? nil : try message.failure()
        // Id 0 refers to the connection itself; its greeting was read before.
        if head.id == 0 { throw failure ?? WireError.malformed }
        let (call, sink) = monitor.inspect { state in
            let call = state.calls[head.id]
            return (call, call?.sink)
        }
        guard let call, failure == nil || !head.more else { throw WireError.malformed }
        if head.isNotice {
            let miss = try message.readBody(from: bodyStart) { try MissedTouch(from: &$0) }
            if sink != nil { call.onMiss?(miss) }
            return
        }
        var outcome: Result<Void, KeychainError>? = head.more ? nil : .success(())
        if let failure {
            // If `hello` was refused, no other request will be answered.
            if head.id == Self.helloID { throw failure }
            outcome = .failure(failure)
        } else {
            do {
                try (sink ?? Acknowledgement.shared).accept(message, bodyAt: bodyStart)
            } catch let error as KeychainError {
                outcome = .failure(error)
            }
        }
        monitor.change { $0.note(outcome, of: call, isOver: !head.more) }
    }
}
