internal import Dispatch
internal import KeychainModel
internal import SecretMemory

/// Makes changes durable, those of threads that wait for each other together.
extension SealedItems {
    /// Changes that wait for a commit.
    struct Pending {
        var writes: [PendingWrite] = []
        /// Whether a thread commits, or was told to.
        var isLed = false
    }

    /// Commits a change, or waits until another thread did.
    ///
    /// One thread at a time commits all changes that wait by the time it gets the state, then wakes their threads, and lets
    /// the first thread that came meanwhile go on: 16 clients add 16,000 items a second, instead of 13,000 if each thread waited
    /// for the state.
    /// - Returns: the outcome, and whether the hardware has yet to count the store's generation.
    func commit(
        _ operation: PendingWrite.Operation
    ) throws(KeychainError) -> (outcome: PendingWrite.Outcome, isBehind: Bool) {
        let write = PendingWrite(operation)
        let turn: DispatchSemaphore? = pending.withLock { pending in
            if pending.isLed { write.turn = DispatchSemaphore(value: 0) }
            pending.isLed = true
            pending.writes.append(write)
            return write.turn
        }
        turn?.wait()
        // Under the lock, which orders the threads for the thread sanitizer too.
        if pending.withLock({ _ in write.result == nil }) { commitPending() }
        guard let result = write.result else { throw KeychainError(.internalComponent) }
        return (try result.get(), write.isBehind)
    }

    /// Commits a change part by part, with the turns of others in between.
    ///
    /// - Parameters:
    ///   - operation: the change, which continues where `note` left it.
    ///   - note: takes the outcome of a part; returns how far it came, or nil if it is of another change.
    /// - Returns: whether the hardware has yet to count the store's generation.
    /// - Throws: ``KeychainError`` of a part; the parts before it stay done.
    func commitInParts(
        _ operation: PendingWrite.Operation,
        note: (PendingWrite.Outcome) -> ItemDeletion.Progress?
    ) throws(KeychainError) -> Bool {
        while true {
            let (outcome, isBehind) = try commit(operation)
            guard let progress = note(outcome) else { throw KeychainError(.internalComponent) }
            giveWay()
            if !progress.isUnfinished { return isBehind }
        }
    }

    private func commitPending() {
        let writes = withState { state in
            let writes = pending.withLock { pending in
                defer { pending.writes = [] }
                return pending.writes
            }
            commit(writes, &state)
            for write in writes { write.isBehind = state.isGenerationBehind }
            return writes
        }
        let next = pending.withLock { pending in
            pending.isLed = !pending.writes.isEmpty
            return pending.writes.first
        }
        next?.turn?.signal()
        for write in writes { write.turn?.signal() }
    }

    func commit(_ writes: [PendingWrite], _ state: inout State) {
        do throws(KeychainError) {
            let context = try keys.context()
            let store = try reachableStore(state)
            for write in writes where write.isStale(in: context) { write.result = .success(.stale) }
            func commit(_ writes: [PendingWrite], _ state: borrowing State) {
                store.commit(writes, context, counting: state.isGenerationInStep ? .on : .later)
            }
            commit(writes.filter { $0.result == nil }, state)
            let refused = writes.filter(\.isRefusedByPlace)
            if !refused.isEmpty, follow(&state) {
                for write in refused { write.result = nil }
                commit(refused, state)
            }
            if store.isPurgeDue, !writes.contains(where: \.isUnfinished) { store.purge() }
        } catch {
            for write in writes { write.result = .failure(error) }
        }
        for case .failure(let error)? in writes.map(\.result) { noteDamage(error, &state) }
        purgeLater(&state)
        settleLater(&state)
        endLater(&state)
    }

    func purgeLater(_ state: inout State) {
        guard state.purge == nil, state.store?.hasDeletedRecords == true else { return }
        state.purge = Task { [weak self, delays] in
            var delay = delays.purge
            repeat {
                guard (try? await Task.sleep(for: delay)) != nil else { return }
                delay = Self.pause
            } while self?.purge() == false
        }
    }

    /// - Returns: false if another thread uses the items.
    private func purge() -> Bool {
        let purged: Void? = withStateIfFree { state in
            state.purge = nil
            state.store?.purge()
        }
        return purged != nil
    }

    /// Checkpoints the log once changes pause, and returns free space to the disk: what is only in one of the two files
    /// is lost with that file.
    private func settleLater(_ state: inout State) {
        state.lastCommit = .now
        guard state.settling == nil else { return }
        state.settling = Task(priority: .background) { [weak self, delays] in
            repeat {
                guard (try? await Task.sleep(for: delays.idle)) != nil else { return }
            } while self?.settleLog() == true
        }
    }

    /// - Returns: whether to wait again.
    private func settleLog() -> Bool {
        withStateIfFree { state in
            guard ContinuousClock.now - state.lastCommit >= delays.idle, !state.isRepairing else {
                return true
            }
            state.settling = nil
            guard let store = state.store else { return false }
            store.settleLog()
            guard let context = try? keys.context(), store.isShrinkDue else { return false }
            do throws(KeychainError) {
                try store.shrink(context) { [self] in isAwaited }
            } catch {
                // A request was waiting and goes first; without new changes there is no retry.
                return error.cause == .interrupted
            }
            return false
        } ?? true
    }
}
