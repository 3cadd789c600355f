public import KeychainModel
import Synchronization

extension RemoteKeychain {
    /// Begins a look-up on a thread that may not wait, such as one of Swift's pool.
    ///
    /// The daemon answers what asks nobody within microseconds, before another thread would be awake to wait for it. What takes
    /// longer is waited for where ``BegunCopy/finish(cancellation:)`` is called.
    ///
    /// - Parameters:
    ///   - request: What is looked up.
    ///   - time: How long this thread looks for the answer, without sleeping.
    /// - Returns: the look-up; nil where it could not even be sent without waiting, such as before the first connection.
    /// - Throws: ``KeychainError`` as ``copy(_:cancellation:)``, for what is not sent.
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

/// A look-up that was sent.
///
/// One that is dropped without its results ends at the daemon; that writes to the socket, which may wait.
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

    /// Whether all that was found is here: ``finish(cancellation:)`` does not wait then.
    public var hasArrived: Bool { call.hasSucceeded }

    /// Whether somebody took its results, or its error.
    public var hasEnded: Bool { hasFinished.load(ordering: .relaxed) }

    /// What was found; called once.
    ///
    /// Waits for the daemon, and for room in locked memory.
    ///
    /// - Parameter cancellation: ends the wait.
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
            // Connects anew, as every call does that meets this.
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
