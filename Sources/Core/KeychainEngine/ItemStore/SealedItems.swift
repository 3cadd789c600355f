internal import Glibc
internal import KeychainModel
internal import SecretMemory
internal import Synchronization

/// The sealed items of a keychain, for any thread: one call at a time, each on its caller's thread.
///
/// Nothing here waits for the user, a derived key or hardware (``VaultOutcome``). Only ``keys`` open items: while the keybag
/// is locked there is no context to open one with.
public final class SealedItems: Sendable, AuditReporter {
    /// What one thread uses at a time.
    struct State {
        /// The items; nil before set-up, and while they cannot be reached.
        var store: ItemStore?
        /// Why the items cannot be reached; nil if they can.
        var fault: KeychainError?
        /// Whether other files were opened in the place of the former ones, and no unlock has read them yet.
        var isUnread = false
        /// The hardware's count of the store's generation; nil while unknown.
        var countedGeneration: UInt64?
        var isSettlingGeneration = false
        /// Wait for the end of that.
        var settled: [CheckedContinuation<Bool, Never>] = []
        /// Whether the hardware failed to count, until it does.
        var isUncounted = false
        /// Lets the hardware count once it answers.
        var counting: Task<Void, Never>?
        /// Whether a repair is under way, which needs the names of new files and the items in the file that they are in.
        var isRepairing = false
        var isTamperingReported = false
        var isReplacementReported = false
        var lastCommit = ContinuousClock.now
        /// Empties the log a while after a deletion.
        var purge: Task<Void, Never>?
        /// Checkpoints the log a while after the last change.
        var settling: Task<Void, Never>?
        /// Sweeps the items a while after the first unlock.
        var sweep: Task<Void, Never>?
        /// Deletes the items that end.
        var ending: Task<Void, Never>?
        /// The end that ``ending`` waits for, in microseconds since 1970; the least number while it reads the rows.
        var awaitedEnd = Int64.min

        func cancelTasks() {
            for task in [purge, settling, sweep, ending, counting] { task?.cancel() }
        }
    }

    let directory: StoreDirectory
    let limits: StoreLimits
    /// Whether attributes are returned only with the key that the item's data need.
    let hidesNamesWhileLocked: Bool
    let keys: KeysInMemory
    let counters: (any HardwareGuard)?
    let delays: BackgroundDelays
    let wallClock: @Sendable () -> Int64
    let audit: (any AuditLog)?
    /// The groups known to have items.
    let knownGroups = KnownGroups()
    let pending = Guarded(Pending())
    /// Seals new items without waiting for ``state``; nil until the keys were used for that.
    let sealing = Guarded<ItemSealing?>(nil)
    private let state = Guarded(State())
    /// How many threads wait for ``state``.
    private let waiting = Atomic(0)

    init(
        in directory: StoreDirectory,
        keys: KeysInMemory,
        counters: (any HardwareGuard)?,
        limits: StoreLimits,
        hidesNamesWhileLocked: Bool,
        delays: BackgroundDelays,
        wallClock: @escaping @Sendable () -> Int64,
        audit: (any AuditLog)?
    ) {
        self.directory = directory
        self.keys = keys
        self.counters = counters
        self.limits = limits
        self.hidesNamesWhileLocked = hidesNamesWhileLocked
        self.delays = delays
        self.wallClock = wallClock
        self.audit = audit
    }

    deinit {
        state.withLock { $0.cancelTasks() }
    }

    /// Lends the state to one thread at a time.
    func withState<R: ~Copyable, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
        waiting.add(1, ordering: .relaxed)
        return try state.withLock { (state) throws(E) in
            waiting.subtract(1, ordering: .relaxed)
            return try body(&state)
        }
    }

    /// ``withState(_:)`` for background work, which must not block a thread of Swift's pool: nil while another thread uses
    /// the state.
    func withStateIfFree<R>(_ body: (inout State) -> R) -> R? { state.withLockIfFree(body) }

    /// Lends the state again and again until `body` returns a result, and to waiting threads in between.
    func inSlices<R: ~Copyable, E: Error>(_ body: (inout State) throws(E) -> R?) throws(E) -> R {
        while true {
            let result = try withState(body)
            if let result { return result }
            giveWay()
        }
    }

    /// Lets a waiting thread have the state, which a thread that takes it again at once may keep from it.
    func giveWay() {
        if isAwaited { _ = poll(nil, 0, 1) }
    }

    /// Whether a thread waits for the state.
    var isAwaited: Bool { waiting.load(ordering: .relaxed) > 0 }

    /// Why the items cannot be reached; nil if they can.
    var fault: KeychainError? { withState { $0.fault } }

    // MARK: The keybag's calls

    /// Opens the items of a keychain that was set up.
    ///
    /// - Throws: ``KeychainError`` if a newer version wrote them; other faults are told by each use.
    func open() throws(KeychainError) {
        try withState { (state) throws(KeychainError) in
            do throws(KeychainError) {
                state.store = try ItemStore(directory: directory, limits: limits)
            } catch {
                // With unreadable items the keybag can still report that; a newer format must not be touched at all.
                if error.cause == KeychainError.newerFormat.cause { throw error }
                state.fault = error
                if error.status == .decode {
                    let file = error.cause == .logDamaged ? "log" : "file"
                    report(.tamperDetected, detail: "items: the \(file) is damaged")
                }
            }
        }
    }

    /// Opens items again that were missing or damaged: they may have been put back with their keybag.
    func openAgain() {
        withState { openAgain(&$0) }
    }

    func openAgain(_ state: inout State) {
        guard state.store == nil else { return }
        do throws(KeychainError) {
            state.store = try ItemStore(directory: directory, limits: limits)
            state.fault = nil
        } catch {
            state.fault = error
        }
    }

    /// Uses a new keychain's items from now on.
    func use(_ context: ItemContext, counted generation: UInt64?) throws(KeychainError) {
        try withState { (state) throws(KeychainError) in
            // Unless they can be read, each use tells it.
            state.fault = .damaged
            let fresh = try ItemStore(directory: directory, limits: limits)
            _ = fresh.load(context)
            state.store = fresh
            state.countedGeneration = generation
            state.fault = nil
        }
    }

    /// Closes the files; there is no keychain afterwards.
    func forget() {
        withState { state in
            state.cancelTasks()
            sealing.withLock { $0 = nil }
            state.store?.close()
            state = State()
        }
    }

    /// Replaces the keys: no call that begins after this returns uses others.
    func keysChanged(to standing: Standing) {
        withState { keysChanged(to: standing, &$0) }
    }

    private func keysChanged(to standing: Standing, _ state: inout State) {
        sealing.withLock { $0 = nil }
        keys.replace(with: standing)
    }

    /// Uses the keys of an unlocked keybag from now on; no call uses them before the items were read and compared.
    ///
    /// - Parameters:
    ///   - standing: the unlocked keybag.
    ///   - isFirst: whether this is the first unlock of this run.
    ///   - counted: the hardware's count to compare with (``compare(with:adopting:)``); nil for no comparison.
    /// - Returns: the result of the comparison.
    /// - Throws: ``KeychainError`` if an accepted store could not be written; the keys are used nevertheless.
    func unlock(
        with standing: Standing,
        isFirst: Bool,
        counted: (generation: UInt64, adopting: Bool)?
    ) throws(KeychainError) -> Comparison? {
        try withState { (state) throws(KeychainError) in
            keysChanged(to: standing, &state)
            if isFirst { load(&state) }
            // The clock may have been set meanwhile.
            state.ending?.cancel()
            state.ending = nil
            endLater(&state)
            guard let counted else { return nil }
            return try compare(&state, with: counted.generation, adopting: counted.adopting)
        }
    }

    /// Removes deleted records from the log.
    func purgeNow() {
        withState { $0.store?.purge() }
    }

    /// Deletes the wraps of items bound to a replaced enrolled set.
    ///
    /// - Returns: how many there were.
    func dropCurrentSet() -> Int {
        withState { state in
            guard let store = state.store, let context = try? keys.context() else { return 0 }
            let count = (try? store.dropCurrentSetWraps(context)) ?? 0
            store.purge()
            return count
        }
    }

    /// Writes the log back and closes the files; no later call succeeds.
    func close() {
        withState { state in
            state.cancelTasks()
            state.store?.close()
            state.store = nil
            state.fault = KeychainError(.notAvailable)
        }
    }
}

extension SealedItems {
    /// The store, unless it cannot be reached.
    func reachableStore(_ state: borrowing State) throws(KeychainError) -> ItemStore {
        // Runs for each call, so the error is copied only if there is one.
        if case .some(let fault) = state.fault { throw fault }
        guard let store = state.store else { throw .damaged }
        return store
    }

    func usableStore(_ state: inout State, _ context: ItemContext) throws(KeychainError) -> ItemStore {
        let store = try reachableStore(state)
        try store.reopenIfNeeded(context)
        if store.sweepState != nil { sweepLater(&state) }
        // Without the digest no row can be proved current.
        guard store.itemSet.digest != nil else {
            throw KeychainError(.decode, cause: .setDamaged, remedy: .check)
        }
        return store
    }
}
