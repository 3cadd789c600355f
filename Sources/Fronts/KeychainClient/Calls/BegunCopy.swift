public import KeychainModel
import Synchronization

extension RemoteKeychain {
    /// Starts a look-up on a thread that must not block, such as one of Swift's pool.
    ///
    /// A reply that needs no prompt arrives within microseconds, before another thread would be awake to wait for it. For a
    /// later one, ``BegunCopy/finish(cancellation:)`` waits on its caller's thread.
    ///
    /// - Parameters:
    ///   - request: The look-up.
    ///   - time: How long this thread polls for the reply, without sleeping.
    /// - Returns: the look-up; nil if it could not be sent without blocking, such as before the first connection.
    /// - Throws: ``KeychainError`` as ``copy(_:cancellation:)``, for a request that is not sent.
    public func beginCopy(
        _ request: CopyItems,
        lookingFor time: Duration
    ) throws(KeychainError) -> BegunCopy? {
        try request.query.checkLimits()
        try request.prompt.checkLimits()
        let sink = ItemReplies(returns: request.query.returns, room: room)
        TerminalModes.begin()
        var isBegun = false
        defer { if !isBegun { TerminalModes.end(isLost: false) } }
        let call = try begin(.copyItems, request, replies: sink, until: .now + time)
        guard let call else { return nil }
        isBegun = true
        return BegunCopy(self, request, sink, call)
    }
}

/// A look-up whose request was sent.
///
/// Releasing it without taking the results cancels the request; that writes to the socket, which may block.
public final class BegunCopy: Sendable {
    private let keychain: RemoteKeychain
    private let request: CopyItems
    private let sink: ItemReplies
    private let call: BegunCall
    private let hasFinished = Atomic<Bool>(false)

    fileprivate init(_ keychain: RemoteKeychain, _ request: CopyItems, _ sink: ItemReplies, _ call: BegunCall)
    {
        self.keychain = keychain
        self.request = request
        self.sink = sink
        self.call = call
    }

    /// Whether the complete result has arrived: ``finish(cancellation:)`` then does not block.
    public var hasArrived: Bool { call.hasSucceeded }

    /// Whether ``finish(cancellation:)`` was called.
    public var hasEnded: Bool { hasFinished.load(ordering: .relaxed) }

    /// The result; may be called once.
    ///
    /// Waits for the daemon, and for space in locked memory.
    ///
    /// - Parameter cancellation: cancels the wait.
    /// - Returns: the items.
    /// - Throws: ``KeychainError`` as ``RemoteKeychain/copy(_:cancellation:)``.
    public func finish(cancellation: Cancellation? = nil) throws(KeychainError) -> ItemResults {
        hasFinished.store(true, ordering: .relaxed)
        var isLost = false
        do throws(KeychainError) {
            defer { TerminalModes.end(isLost: isLost) }
            do throws(KeychainError) {
                try call.finish(cancellation)
                return ItemResults(sink)
            } catch {
                isLost = error.status == .internalComponent
                throw error
            }
        } catch {
            // Reconnect, as every call does after this error.
            if error.isOfUntoldProgram {
                call.retire(from: keychain)
                return try keychain.copy(request, cancellation: cancellation)
            }
            guard error.cause == .noRoom else { throw error }
        }
        return try keychain.copyAlone(request, cancellation)
    }

    deinit {
        if !hasFinished.load(ordering: .relaxed) { TerminalModes.end(isLost: false) }
    }
}
