import Desk
import Glibc
import KeychainModel
import PeerSockets
import SecretMemory

/// One client connection: its socket, its thread, and its running requests.
final class Connection: Sendable {
    private struct State {
        var tasks: [UInt64: Task<Void, Never>] = [:]
        /// The request whose task has not suspended yet.
        var starting: UInt64?
        /// False once the socket is closed: its descriptor number may then be reused.
        var isOpen = true
        /// The peer does not read, has disconnected or misbehaves: no more replies.
        var isBroken = false
    }

    /// The client's calls of the desk.
    let visit: Visit
    let executor: ConnectionExecutor
    let limits: RequestLimits
    let desk: Desk
    /// The connected socket; only the connection's thread waits on it.
    let socket: CInt
    private let handler: RequestHandler
    private let state = Guarded(State())

    /// Takes over a connected socket; if this throws, the caller keeps it.
    init(
        _ socket: CInt,
        of asker: Asker,
        at desk: Desk,
        limits: RequestLimits,
        identify: @escaping @Sendable (RepresentedProgram) -> Asker
    ) throws(ServerError) {
        executor = try ConnectionExecutor()
        visit = desk.visit(by: asker)
        self.socket = socket
        self.limits = limits
        self.desk = desk
        handler = RequestHandler(visit: visit, identify: identify) {
            var descriptor = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
            return unsafe poll(&descriptor, 1, 0) > 0
        }
    }

    /// The process at the other end, as of the last check.
    var caller: Caller { visit.caller }

    // MARK: Requests

    /// How many requests are running.
    var requestCount: Int { state.withLock { $0.tasks.count } }

    /// Serves a request on this connection's thread: at once up to where it has to wait, and then when the thread runs its
    /// jobs.
    ///
    /// With `Task.immediate` a look-up takes 22 us; with a task that starts as a queued job it takes 24 us.
    ///
    /// A request with a secret keeps the locked memory reserved for its frame until it is done. Other requests
    /// release it at once, so that one waiting for memory does not keep it from another.
    func start(_ request: consuming Request, _ head: RequestHead, room: RequestRoom) {
        let room = request.holdsSecret ? room : nil
        let box = RequestBox(request)
        state.withLock { $0.starting = head.id }
        let task = Task.immediate(executorPreference: executor) {
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
            self.state.withLock { state in
                if state.starting == head.id {
                    state.starting = nil
                } else {
                    state.tasks[head.id] = nil
                }
            }
        }
        // If another thread cancelled all requests meanwhile, this task was not among them.
        let mustEnd = state.withLock { state in
            guard state.starting == head.id else { return false }
            state.starting = nil
            state.tasks[head.id] = task
            return state.isBroken
        }
        if mustEnd || isStopping { task.cancel() }
    }

    /// Checks the sender of a received part of a request.
    func received(from sender: Int32) { visit.checkAsker(sender: sender) }

    /// Cancels a request and its prompt.
    func cancel(_ id: UInt64) {
        state.withLock { $0.tasks[id] }?.cancel()
    }

    /// Cancels all requests.
    func cancelAll() {
        for task in state.withLock({ Array($0.tasks.values) }) { task.cancel() }
    }

    // MARK: Replies

    /// Sends one message; waits while the peer does not read, at most ``RequestLimits/replyDeadline``.
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

    /// Stops sending replies: part of one may have been sent, or the peer has disconnected.
    func giveUp() {
        state.withLock { $0.isBroken = true }
        cancelAll()
        executor.wake()
    }

    /// Whether nothing more can be read or sent.
    var isBroken: Bool { state.withLock { $0.isBroken } }

    // MARK: The end

    /// Cancels all requests because the daemon stops; their clients get an error that says so.
    func stop() {
        visit.stop()
        cancelAll()
        guard executor.wake() else { return }
        // The thread waits in recv(2), with no request to answer.
        state.withLock { state in
            if state.isOpen { _ = shutdown(socket, CInt(SHUT_RD)) }
        }
    }

    /// Whether the daemon is stopping.
    var isStopping: Bool { visit.isStopping }

    /// Shuts the socket down because its peer delays the daemon's exit.
    func cutOff() {
        state.withLock { state in
            if state.isOpen { _ = shutdown(socket, CInt(SHUT_RDWR)) }
        }
    }

    /// Closes the socket and wipes the secrets of its contexts.
    func close() {
        state.withLock { state in
            state.isOpen = false
            _ = Glibc.close(socket)
        }
        visit.end()
    }
}
