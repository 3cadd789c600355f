internal import RelyingParty

/// Derives passwords in the bounded pool; whether there is a user does not change what it costs.
struct PasswordChecker: Sendable {
    let pool: DerivationPool
    /// How many derivations run or wait at most.
    private let capacity: Int
    private let cost: PasswordHash.Cost
    private let metrics: ServerMetrics
    /// Of a password that nobody has: what an unknown user is checked against.
    private let stranger: PasswordHash

    /// - Throws: what the derivation throws when memory is short.
    init(_ configuration: ServerConfiguration, processors: Int, _ metrics: ServerMetrics) throws {
        let workers = configuration.passwordWorkers ?? processors
        let waiting = configuration.passwordQueue ?? 4 * workers
        pool = DerivationPool(threads: workers, waiting: waiting)
        capacity = workers + waiting
        cost = configuration.passwordCost
        self.metrics = metrics
        stranger = try PasswordHash(password: Random.bytes(16).hexadecimal, cost: cost)
    }

    /// Whether another one would be refused.
    var isFull: Bool { pool.depth >= capacity }

    /// What a check came to.
    enum Verdict: Sendable {
        /// It is the password.
        ///
        /// - rehashed: the same one with the cost that is configured now; nil: it has that.
        case correct(rehashed: String?)
        case wrong
    }

    /// Checks a password against a stored text; without one it derives all the same.
    ///
    /// - Throws: ``DerivationPool/Overloaded``.
    func check(_ password: String, against stored: String?) async throws -> Verdict {
        let hash = stored.flatMap { PasswordHash($0) }
        let (cost, stranger) = (cost, stranger)
        return try await timed {
            guard let hash else {
                _ = try stranger.matches(password)
                return .wrong
            }
            guard try hash.matches(password) else { return .wrong }
            guard hash.needsRehash(cost) else { return .correct(rehashed: nil) }
            return .correct(rehashed: try PasswordHash(password: password, cost: cost).description)
        }
    }

    /// Derives a new one, as it is stored.
    ///
    /// - Throws: ``DerivationPool/Overloaded``.
    func hash(_ password: String) async throws -> String {
        let cost = cost
        return try await timed { try PasswordHash(password: password, cost: cost).description }
    }

    private func timed<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value
    {
        let start = ContinuousClock.now
        let value = try await pool.run(body)
        metrics.passwordDerived(in: ContinuousClock.now - start)
        return value
    }
}
