import SecretMemory
import Threads

/// The clients of a listening socket, from their arrival to their end: how many there are of each kind, and when the last one left.
///
/// A client arrives (``arrive(_:atMost:)``), is identified on a thread of its own (``onThread(of:_:identify:serve:)``), and is served there
/// (``serve(_:_:as:_:end:)``) or leaves.
package final class ClientRegistry<Kind: Hashable & Sendable, Client: Sendable>: Sendable {
    private struct State {
        var served: [UInt64: (kind: Kind, client: Client)] = [:]
        /// How many more were accepted and are being identified.
        var arriving: [Kind: Int] = [:]
        var isStopping = false
        var isAccepting = false
        var idleSince = MonotonicTime.now()
        var whenQuiet: [CheckedContinuation<Void, Never>] = []

        /// Whether no client is served or being identified.
        var isDeserted: Bool { served.isEmpty && arriving.isEmpty }

        /// The clients of a kind: those served and those being identified.
        func count(of kind: Kind) -> Int {
            served.values.count { $0.kind == kind } + arriving[kind, default: 0]
        }

        mutating func leave(_ kind: Kind) {
            arriving[kind, default: 0] -= 1
            if arriving[kind] == 0 { arriving[kind] = nil }
        }
    }

    private let acceptor: Acceptor
    private let state = Guarded(State())

    /// Prepares to accept; nothing listens yet.
    package init() throws(ServerError) { acceptor = try Acceptor() }

    // MARK: Accepting

    /// Starts to accept clients on a new thread; once.
    package func start(
        _ listener: consuming Listener,
        tell: @escaping @Sendable (Acceptor.Event) -> Void
    ) throws(ServerError) {
        state.withLock { $0.isAccepting = true }
        let ended: @Sendable () -> Void = { [self] in
            state.withLock { $0.isAccepting = false }
            tellWhenQuiet()
        }
        do throws(ServerError) {
            try acceptor.start(listener, tell: tell, ended: ended)
        } catch {
            state.withLock { $0.isAccepting = false }
            throw error
        }
    }

    /// Stops accepting: those who arrive from now on are not served.
    package func stopAccepting() {
        state.withLock { $0.isStopping = true }
        acceptor.stop()
    }

    /// Waits until nothing is accepted any more and the last client has left, after ``stopAccepting()``.
    package func waitUntilQuiet() async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.whenQuiet.append(continuation) }
            tellWhenQuiet()
        }
    }

    /// How long there has been no client; nil while there is one.
    package var idleTime: Duration? {
        state.withLock { $0.isDeserted ? $0.idleSince.age : nil }
    }

    /// The clients that are served now.
    package var clients: [Client] { state.withLock { $0.served.values.map(\.client) } }

    // MARK: A client

    /// Counts a client that was accepted.
    ///
    /// - Returns: false, and it is not counted, if there are as many of its kind already.
    package func arrive(_ kind: Kind, atMost most: Int) -> Bool {
        state.withLock { state in
            guard state.count(of: kind) < most else { return false }
            state.arriving[kind, default: 0] += 1
            return true
        }
    }

    /// Goes on with a client that arrived on a thread of its own: naming its program delays no other client.
    ///
    /// - Parameters:
    ///   - peer: the client; its pidfd is closed once it is identified, so that a served client holds none.
    ///   - kind: the kind as which it arrived.
    ///   - identify: determines who it is.
    ///   - serve: serves it, or has it leave.
    /// - Throws: ``ServerError`` if there is no thread for it, which has then left.
    package func onThread<Identity>(
        of peer: PeerCredentials,
        _ kind: Kind,
        identify: @escaping @Sendable (PeerCredentials) -> Identity,
        serve: @escaping @Sendable (Identity) -> Void
    ) throws(ServerError) {
        let arrival = Guarded<PeerCredentials?>(peer)
        let failure = BlockingThread.start { serve(Self.identified(arrival, identify)) }
        guard failure != 0 else { return }
        leave(kind)
        throw ServerError(call: "pthread_create", errno: failure)
    }

    /// A function of its own: the peer is released when it returns.
    private static func identified<Identity>(
        _ arrival: Guarded<PeerCredentials?>,
        _ identify: (PeerCredentials) -> Identity
    ) -> Identity {
        guard let peer = arrival.withLock({ $0.take() }) else { preconditionFailure("it arrives once") }
        return identify(peer)
    }

    /// Removes a client that arrived and is not served.
    package func leave(_ kind: Kind) {
        state.withLock { state in
            state.leave(kind)
            if state.isDeserted { state.idleSince = .now() }
        }
        tellWhenQuiet()
    }

    /// Serves a client that arrived: `body` until it disconnects, unless this stops, and then `end`.
    ///
    /// - Parameters:
    ///   - client: the client.
    ///   - number: its number, unique among the clients.
    ///   - kind: the kind as which it arrived.
    ///   - body: serves it.
    ///   - end: closes it.
    package func serve(
        _ client: Client,
        _ number: UInt64,
        as kind: Kind,
        _ body: () -> Void,
        end: () -> Void
    ) {
        let isStopping = state.withLock { state in
            state.leave(kind)
            if !state.isStopping { state.served[number] = (kind, client) }
            return state.isStopping
        }
        if !isStopping { body() }
        end()
        state.withLock { state in
            state.served[number] = nil
            if state.isDeserted { state.idleSince = .now() }
        }
        tellWhenQuiet()
    }

    private func tellWhenQuiet() {
        let waiting = state.withLock { state in
            guard state.isStopping, !state.isAccepting, state.isDeserted else {
                return [CheckedContinuation<Void, Never>]()
            }
            defer { state.whenQuiet = [] }
            return state.whenQuiet
        }
        for continuation in waiting { continuation.resume() }
    }
}
