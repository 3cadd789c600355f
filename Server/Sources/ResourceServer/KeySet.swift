internal import JWTKit

/// The server's keys, fetched when one is needed that is not among them, and again after some minutes.
actor KeySet {
    /// How long keys are used without fetching them again: `max-age` of the server's reply.
    private static let lifetime = Duration.seconds(300)
    /// The shortest time between two fetches for keys that are not there, since tokens may name any key, and between two tries while the
    /// server cannot be reached.
    private static let pause = Duration.seconds(2)

    private let clock: ServiceClock
    private var keys: [String: JWTKeyCollection] = [:]
    private var fetchedAt: ContinuousClock.Instant?
    /// When a fetch was last begun.
    private var triedAt: ContinuousClock.Instant?
    private var fetching: Task<Result<[String: JWTKeyCollection], AccessTokenError>, Never>?

    init(_ clock: ServiceClock) { self.clock = clock }

    /// The key with a name (`kid`); nil: the server has none.
    ///
    /// - Throws: an error of `fetch`, unless the key was fetched before.
    func key(
        _ name: String,
        fetching fetch: @escaping @Sendable () async throws(AccessTokenError) -> [String: JWTKeyCollection]
    ) async throws(AccessTokenError) -> JWTKeyCollection? {
        if let key = keys[name] {
            guard hasPassed(Self.lifetime, since: fetchedAt), hasPassed(Self.pause, since: triedAt) else {
                return key
            }
            // A server that cannot be reached does not end the sessions of its users.
            do throws(AccessTokenError) { try await refresh(fetch) } catch { return key }
        } else if hasPassed(Self.pause, since: fetchedAt) {
            try await refresh(fetch)
        }
        return keys[name]
    }

    private func hasPassed(_ time: Duration, since start: ContinuousClock.Instant?) -> Bool {
        start.map { clock.steadyTime() - $0 >= time } ?? true
    }

    private func refresh(
        _ fetch: @escaping @Sendable () async throws(AccessTokenError) -> [String: JWTKeyCollection]
    ) async throws(AccessTokenError) {
        let task =
            fetching
            ?? Task { () -> Result<[String: JWTKeyCollection], AccessTokenError> in
                do throws(AccessTokenError) { return .success(try await fetch()) } catch {
                    return .failure(error)
                }
            }
        fetching = task
        triedAt = clock.steadyTime()
        let result = await task.value
        fetching = nil
        keys = try result.get()
        fetchedAt = clock.steadyTime()
    }
}
