internal import ImportedPasswords
internal import RelyingParty

/// Derives passwords in the bounded pool; the cost does not depend on whether the user exists, except that an imported hash
/// has its own cost until its owner signs in.
struct PasswordChecker: Sendable {
    let pool: DerivationPool
    /// The maximum number of derivations running or waiting.
    private let capacity: Int
    private let cost: PasswordHash.Cost
    private let metrics: ServerMetrics
    /// The hash of a random password, against which the passwords of unknown users are checked.
    private let stranger: PasswordHash

    /// - Throws: the derivation's error when memory is short.
    init(_ configuration: ServerConfiguration, processors: Int, _ metrics: ServerMetrics) throws {
        let workers = configuration.passwordWorkers ?? processors
        let waiting = configuration.passwordQueue ?? 4 * workers
        pool = DerivationPool(threads: workers, waiting: waiting)
        capacity = workers + waiting
        cost = configuration.passwordCost
        self.metrics = metrics
        stranger = try PasswordHash(password: Random.bytes(16).hexadecimal, cost: cost)
    }

    /// Whether a further derivation would be refused.
    var isFull: Bool { pool.depth >= capacity }

    /// The result of a check.
    enum Verdict: Sendable {
        /// The password is correct.
        ///
        ///   - rehashed: its hash in the server's own form with the configured cost; nil: the stored hash has both.
        case correct(rehashed: String?)
        case wrong
    }

    /// Checks a password against a stored hash; without one it derives as well.
    ///
    /// - Throws: ``DerivationPool/Overloaded``.
    func check(_ password: String, against stored: String?) async throws -> Verdict {
        let hash = stored.flatMap(StoredHash.init)
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

    /// Derives the hash of a new password, for storing.
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

/// A hash as it is stored: the server's own, or an imported one whose owner has not signed in since.
private enum StoredHash: Sendable {
    case own(PasswordHash)
    case imported(ImportedPassword)

    /// Nil: the text has neither form.
    init?(_ text: String) {
        if let hash = PasswordHash(text) {
            self = .own(hash)
        } else if let hash = try? ImportedPassword(text) {
            self = .imported(hash)
        } else {
            return nil
        }
    }

    func matches(_ password: String) throws -> Bool {
        switch self {
        case .own(let hash): try hash.matches(password)
        case .imported(let hash): try hash.matches(password)
        }
    }

    func needsRehash(_ cost: PasswordHash.Cost) -> Bool {
        switch self {
        case .own(let hash): hash.needsRehash(cost)
        case .imported: true
        }
    }
}
