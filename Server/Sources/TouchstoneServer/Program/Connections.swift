internal import NIOCore
internal import Synchronization

/// The open connections of a server, so that a shutdown can end them.
final class Connections: Sendable {
    private struct State {
        var open: [ObjectIdentifier: any Channel] = [:]
        var isEnded = false
    }

    private let state = Mutex(State())

    /// Keeps a connection until it is closed; after ``end()`` it is closed at once.
    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let isEnded = state.withLock { state in
            if !state.isEnded { state.open[id] = channel }
            return state.isEnded
        }
        if isEnded { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { $0.open[id] = nil }
        }
    }

    /// Closes all connections.
    ///
    /// - Returns: their number.
    func end() -> Int {
        let open = state.withLock { state in
            state.isEnded = true
            return Array(state.open.values)
        }
        for channel in open { channel.close(promise: nil) }
        return open.count
    }
}
