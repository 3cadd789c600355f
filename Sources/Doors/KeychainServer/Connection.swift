import Desk
import Glibc
import KeychainModel
import SecretMemory

/// One client: its socket, its thread, and the requests that it waits for.
final class Connection: Sendable {
    private struct State {
        var tasks: [UInt64: Task<Void, Never>] = [:]
        /// False once the socket is closed: its number may then be somebody else's.
        var isOpen = true
        /// The peer does not read, is gone or misbehaved: no more replies.
        var isBroken = false
    }

    /// Its client's calls.
    let visit: Visit
    let executor: ConnectionExecutor
    let limits: RequestLimits
    let desk: Desk
    /// Connected; its thread alone waits in it.
    let socket: CInt
    private let handler: RequestHandler
    private let state = Guarded(State())

    /// Takes over a connected socket, which stays the caller's when this throws.
    init(
        _ socket: CInt,
        of asker: Asker,
        at desk: Desk,
        limits: RequestLimits
    ) throws(ServerError) {
        executor = try ConnectionExecutor()
        visit = desk.visit(by: asker)
        self.socket = socket
        self.limits = limits
        self.desk = desk
        handler = RequestHandler(visit: visit) {
            var descriptor = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
            return unsafe poll(&descriptor, 1, 0) > 0
        }
    }

    /// Who is at the other end, as of the last look.
    var caller: Caller { visit.caller }

    // MARK: Requests

    /// How many requests run.
    var requestCount: Int { state.withLock { $0.tasks.count } }

    /// Starts to serve a request, on this connection's thread, from its next look at its jobs on.
    ///
    /// What the frame took of the locked memory is kept until a request with a secret is done. Others hold
    /// nothing, so that none that waits for room keeps another one from it.
    func start(_ request: consuming Request, _ head: RequestHead, room: LockedMemoryBudget.Reservation) {
        let room = request.holdsSecret ? room : nil
        let box = RequestBox(request)
        let task = Task(executorPreference: executor) {
            if let request = box.take() {
                do throws(WireError) {
                    try await self.handler.serve(request, of: head) { message throws(WireError) in
                        try self.send(message)
                    }
                } catch {
                    self.giveUp()
                }
            }
            withExtendedLifetime(room) {}
            self.state.withLock { _ = $0.tasks.removeValue(forKey: head.id) }
        }
        state.withLock { $0.tasks[head.id] = task }
    }

    /// Serves a request on this thread, now; false where it has to wait, and ``start(_:_:room:)`` is due.
    func serveAtOnce(_ request: borrowing Request, id: UInt64) throws(WireError) -> Bool {
        try handler.serveAtOnce(request, id: id) { message throws(WireError) in
            try self.send(message)
        }
    }

    /// Some of a request came from a process.
    func received(from sender: Int32) { visit.checkAsker(sender: sender) }

    /// Ends a request: its prompt is taken away.
    func cancel(_ id: UInt64) {
        state.withLock { $0.tasks[id] }?.cancel()
    }

    /// Ends all requests.
    func cancelAll() {
        for task in state.withLock({ Array($0.tasks.values) }) { task.cancel() }
    }

    // MARK: Replies

    /// Sends one message; waits while the peer does not read, but not for long.
    func send(_ message: borrowing SecretBuffer) throws(WireError) {
        guard state.withLock({ $0.isOpen && !$0.isBroken }) else { throw .closed }
        var deadline: MonotonicTime?
        try Frame.send(message, to: socket, waits: false) { () throws(WireError) in
            let end = deadline ?? .after(limits.replyDeadline)
            deadline = end
            var descriptor = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
            let count = unsafe poll(&descriptor, 1, end.pollTimeout)
            guard count > 0 || (count < 0 && errno == EINTR), MonotonicTime.now() < end else {
                throw .closed
            }
        }
    }

    /// No more replies: part of one may have been sent, or the peer is gone.
    func giveUp() {
        state.withLock { $0.isBroken = true }
        cancelAll()
        executor.wake()
    }

    /// Whether nothing more is to be read or sent.
    var isBroken: Bool { state.withLock { $0.isBroken } }

    // MARK: The end

    /// Ends all requests because the daemon ends; their clients are told so.
    func stop() {
        visit.stop()
        cancelAll()
        guard executor.wake() else { return }
        // It waits in recv(2), with no request to answer.
        state.withLock { state in
            if state.isOpen { _ = shutdown(socket, CInt(SHUT_RD)) }
        }
    }

    /// Whether the daemon ends.
    var isStopping: Bool { visit.isStopping }

    /// Cuts a connection off whose peer holds the end up.
    func cutOff() {
        state.withLock { state in
            if state.isOpen { _ = shutdown(socket, CInt(SHUT_RDWR)) }
        }
    }

    /// Closes the socket and wipes what the contexts held.
    func close() {
        state.withLock { state in
            state.isOpen = false
            _ = Glibc.close(socket)
        }
        visit.end()
    }
}
