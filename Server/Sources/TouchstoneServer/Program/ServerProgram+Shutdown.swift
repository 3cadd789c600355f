internal import AccountStore
internal import Logging
internal import RelyingParty
internal import ServiceLifecycle

/// A shutdown reached its limit with connections open, which were closed.
public struct ShutdownCut: Error, Sendable, CustomStringConvertible {
    /// The setting `shutdown-timeout`.
    public let limit: Duration
    /// How many connections were closed.
    public let connections: Int

    /// What happened, for the log.
    public var description: String {
        "requests did not end in the \(limit.components.seconds) s of shutdown-timeout; connections closed: \(connections)"
    }
}

extension ServerProgram {
    private enum Event: Sendable {
        case ended(Result<Void, any Error>)
        case limitReached(Duration)
        /// The limit does not matter any more.
        case limitGone
    }

    /// Runs a group of services, and closes the connections when its graceful shutdown takes longer than the setting
    /// `shutdown-timeout`.
    ///
    /// - Returns: what was cut; nil: nothing.
    /// - Throws: an error of a service.
    func run(_ group: ServiceGroup) async throws -> ShutdownCut? {
        try await withThrowingTaskGroup(of: Event.self) { tasks in
            tasks.addTask {
                do { return .ended(.success(try await group.run())) } catch { return .ended(.failure(error)) }
            }
            tasks.addTask {
                do {
                    try await gracefulShutdown()
                    let limit = Duration.seconds(self.current.value.configuration.shutdownTimeout)
                    try await Task.sleep(for: limit)
                    return .limitReached(limit)
                } catch {
                    return .limitGone
                }
            }
            var cut: ShutdownCut?
            var isEnded = false
            while let event = try await tasks.next() {
                switch event {
                case .ended(let result):
                    isEnded = true
                    tasks.cancelAll()
                    // Services that were cancelled may say so by an error.
                    if cut == nil { try result.get() }
                case .limitReached where isEnded: break
                case .limitReached(let limit):
                    let reached = ShutdownCut(limit: limit, connections: connections.end())
                    current.value.logger.error("\(reached)")
                    cut = reached
                    tasks.cancelAll()
                case .limitGone: break
                }
            }
            return cut
        }
    }
}
