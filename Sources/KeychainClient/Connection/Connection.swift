import CBOR
import Glibc
import KeychainModel
import SecretMemory
import Synchronization

/// One connection to the daemon, shared by as many threads as like to.
///
/// There is no thread of its own: a thread that waits for its reply and finds nobody reading reads, and hands
/// the replies of others to them; when its own has come, the next one in line takes over.
final class Connection: Sendable {
    /// The most requests under way; the daemon allows 32, and cancelling needs room too.
    static let mostInFlight = 24
    private static let helloID: UInt64 = 1

    private struct State: ~Copyable {
        /// Nil while a thread reads.
        var receiver: FrameReceiver?
        var waiting: [UInt64: Waiting] = [:]
        /// Why the connection is of no use any more.
        var failure: KeychainError?
        var inFlight = 0

        mutating func fail(_ error: KeychainError) {
            if failure == nil { failure = error }
        }

        mutating func note(_ outcome: Result<Void, KeychainError>?, of id: UInt64, isOver: Bool) {
            guard waiting[id]?.sink != nil else {
                if isOver { waiting[id] = nil }
                return
            }
            // What was given up stays given up, whatever comes after.
            if waiting[id]?.outcome == nil { waiting[id]?.outcome = outcome }
            waiting[id]?.isOver = isOver
        }

        mutating func takeOutcome(of id: UInt64) -> Turn? {
            if let entry = waiting[id], let outcome = entry.outcome {
                waiting[id] = entry.isOver ? nil : Waiting(sink: nil)
                if !entry.isOver, case .failure(let error) = outcome { return .givenUp(error) }
                return .ended(outcome)
            }
            guard let failure else { return nil }
            waiting[id] = nil
            return .ended(.failure(failure))
        }
    }

    private struct Waiting {
        /// Nil when nobody waits: what comes is dropped.
        let sink: (any ReplySink)?
        var outcome: Result<Void, KeychainError>?
        /// Whether the last reply is in.
        var isOver = false
    }

    /// What a waiting thread does next.
    private enum Turn: ~Copyable {
        case ended(Result<Void, KeychainError>)
        /// More replies are on the way, and nobody wants them.
        case givenUp(KeychainError)
        case read(FrameReceiver)
    }

    private let socket: DaemonSocket
    private let process = getpid()
    private let monitor: Monitor<State>
    /// The last id sent; held while a frame is written, because ids must grow on the wire.
    private let lastID: Mutex<UInt64>

    /// Greets the daemon at the other end of `socket`; does not wait for its answer.
    ///
    /// - Throws: ``DaemonAbsence`` when the daemon ended before it said anything, ``KeychainError``.
    init(_ socket: consuming DaemonSocket) throws {
        var receiver = FrameReceiver()
        let greeting = try socket.greeting(&receiver)
        self.socket = socket
        monitor = Monitor(State(receiver: receiver))
        lastID = Mutex(0)
        _ = try post(.hello, Hello(nonce: greeting.nonce), to: nil)
    }

    /// Whether this connection can take another request: it is this process's own, whole, and not hung up.
    var isUsable: Bool {
        // A child must not speak on its parent's connection.
        guard process == getpid() else { return false }
        let (failed, idle) = monitor.inspect { ($0.failure != nil, $0.inFlight == 0) }
        return !failed && !(idle && socket.isHungUp)
    }

    /// Sends a request and waits until its last reply is in.
    func call<Body: WireBody & ~Copyable>(
        _ method: Method,
        _ body: borrowing Body,
        replies sink: any ReplySink,
        cancellation: Cancellation?
    ) throws(KeychainError) {
        monitor.wait { state in
            guard state.failure != nil || state.inFlight < Self.mostInFlight else { return Void?.none }
            state.inFlight += 1
            return ()
        }
        defer { monitor.change { $0.inFlight -= 1 } }
        let id = try post(method, body, to: sink)
        cancellation?.attach(self, id: id)
        defer { cancellation?.detach(self, id: id) }
        try wait(for: id).get()
    }

    /// Asks the daemon to end a request; that request's own thread gets the answer.
    func cancel(_ id: UInt64) {
        guard process == getpid() else { return }
        // A connection that is gone has ended the request by itself.
        _ = try? post(.cancel, CancelRequest(id: id), to: nil)
    }

    private func post<Body: WireBody & ~Copyable>(
        _ method: Method,
        _ body: borrowing Body,
        to sink: (any ReplySink)?
    ) throws(KeychainError) -> UInt64 {
        try lastID.withLock { lastID throws(KeychainError) in
            let id = lastID + 1
            let message = RequestHead(id: id, method: method).message(body)
            guard message.count <= Frame.longest else { throw KeychainError(.dataTooLarge) }
            lastID = id
            try monitor.change { state throws(KeychainError) in
                if let failure = state.failure { throw failure }
                state.waiting[id] = Waiting(sink: sink)
            }
            do {
                try socket.send(message)
            } catch {
                let failure = KeychainError.connectionLost("\(error)")
                monitor.change { state in
                    state.waiting[id] = nil
                    state.fail(failure)
                }
                // Whoever reads shall notice too.
                socket.shutDown()
                throw failure
            }
            return id
        }
    }

    private func wait(for id: UInt64) -> Result<Void, KeychainError> {
        while true {
            let turn = monitor.wait { state -> Turn? in
                if let ended = state.takeOutcome(of: id) { return ended }
                guard let receiver = state.receiver.take() else { return nil }
                return .read(receiver)
            }
            switch consume turn {
            case .ended(let outcome): return outcome
            case .givenUp(let error):
                cancel(id)
                return .failure(error)
            case .read(let receiver): read(receiver, until: id)
            }
        }
    }

    /// Reads and hands out until `id` has its outcome, then leaves the receiver to the next in line.
    private func read(_ lent: consuming FrameReceiver, until id: UInt64) {
        var receiver = lent
        do {
            while !monitor.inspect({ $0.failure != nil || $0.waiting[id]?.outcome != nil }) {
                guard try socket.receive(into: &receiver) else { throw WireError.closed }
                while let message = try receiver.next() { try handOut(message) }
            }
        } catch {
            let failure = (error as? KeychainError) ?? .connectionLost("\(error)")
            monitor.change { $0.fail(failure) }
            socket.shutDown()
        }
        var rest: FrameReceiver? = receiver
        monitor.change { $0.receiver = rest.take() }
    }

    /// Gives one reply to the request it belongs to.
    private func handOut(_ message: consuming ReceivedMessage) throws {
        // The body of a success is read once, by the sink that wants it.
        let head = try message.readBeginning { try ReplyHead(from: &$0) }
        let failure = head.status == .success ? nil : try message.failure()
        // Id 0 speaks of the connection itself, and the greeting came before.
        if head.id == 0 { throw failure ?? WireError.malformed }
        guard let waiting = monitor.inspect({ $0.waiting[head.id] }), failure == nil || !head.more else {
            throw WireError.malformed
        }
        var outcome: Result<Void, KeychainError>? = head.more ? nil : .success(())
        if let failure {
            // Where hello was refused, nothing else will be answered.
            if head.id == Self.helloID { throw failure }
            outcome = .failure(failure)
        } else {
            do {
                try (waiting.sink ?? Acknowledgement.shared).accept(message)
            } catch let error as KeychainError {
                outcome = .failure(error)
            }
        }
        monitor.change { $0.note(outcome, of: head.id, isOver: !head.more) }
    }
}
