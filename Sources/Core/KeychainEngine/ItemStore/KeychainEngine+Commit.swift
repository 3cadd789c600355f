internal import KeychainModel

/// Makes changes durable: waiting ones together, a single one at once if the engine is idle.
extension KeychainEngine {
    /// Queues a change and waits until it is durable.
    func commit(
        _ operation: PendingWrite.Operation
    ) async throws(KeychainError) -> PendingWrite.Outcome {
        let result = await withCheckedContinuation { continuation in
            queue(PendingWrite(operation) { continuation.resume(returning: $0) })
        }
        guard let result else { throw KeychainError(.internalComponent) }
        return try result.get()
    }

    /// Queues a change; all changes queued by the time the engine commits are committed together.
    func queue(_ write: PendingWrite) {
        pendingWrites.append(write)
        guard !isCommitDue else { return }
        isCommitDue = true
        // Lets callers that already wait for this actor join the commit.
        executor.performBehindOthers { self.assumeIsolated { $0.commitPending() } }
    }

    private func commitPending() {
        var writes = pendingWrites
        pendingWrites = []
        isCommitDue = false
        do throws(KeychainError) {
            let context = try context()
            let store = try reachableStore()
            let held = writes.filter(\.holdsThread)
            if !held.isEmpty {
                if !isGenerationBehind {
                    store.commit(writes, context, counting: isGenerationInStep ? .refused : .later)
                }
                // A write without a result needs the hardware to follow first, which no thread may block for.
                for write in held { write.tell() }
                writes.removeAll(where: \.holdsThread)
            }
            let rest = writes.filter { $0.result == nil }
            if !rest.isEmpty {
                store.commit(rest, context, counting: isGenerationInStep ? .on : .later)
            }
        } catch {
            for write in writes { write.result = .failure(error) }
        }
        guard isGenerationBehind else { return finish(writes) }
        Task {
            // Report changes as done only now, so that restoring an older file cannot undo them unnoticed.
            await settleGeneration()
            finish(writes)
        }
    }

    /// Commits a single change while the engine is idle.
    ///
    /// - Returns: nil if the hardware would have to follow first: then nothing was done.
    func commitAtOnce(
        _ operation: PendingWrite.Operation
    ) throws(KeychainError) -> PendingWrite.Outcome? {
        guard !isGenerationBehind else { return nil }
        let context = try context()
        let store = try reachableStore()
        let write = PendingWrite(operation)
        store.commit([write], context, counting: isGenerationInStep ? .refused : .later)
        finish([write])
        return try write.result?.get()
    }

    private func finish(_ writes: [PendingWrite]) {
        if let store = try? reachableStore(), store.isPurgeDue { store.purge() }
        purgeLater()
        settleLater()
        for write in writes {
            if case .failure(let error)? = write.result { noteDamage(error) }
            write.tell()
        }
    }

    private func purgeLater() {
        guard purge == nil, store?.hasDeletedRecords == true else { return }
        purge = Task { [weak self, delays] in
            guard (try? await Task.sleep(for: delays.purge)) != nil else { return }
            await self?.purgeNow()
        }
    }

    private func purgeNow() {
        purge = nil
        store?.purge()
    }

    /// Checkpoints the log once changes pause, and returns free space to the disk: what is only in one of the two files
    /// is lost with that file.
    private func settleLater() {
        lastCommit = .now
        guard settling == nil else { return }
        settling = Task(priority: .background) { [weak self, delays] in
            repeat {
                guard (try? await Task.sleep(for: delays.idle)) != nil else { return }
            } while await self?.settle() == true
        }
    }

    /// - Returns: whether to wait again.
    private func settle() -> Bool {
        guard ContinuousClock.now - lastCommit >= delays.idle else { return true }
        settling = nil
        guard let store else { return false }
        store.settleLog()
        guard let context = try? context(), store.isShrinkDue else { return false }
        do throws(KeychainError) {
            try store.shrink(context) { executor.isAwaited }
        } catch {
            // A request was waiting and goes first; without new changes there is no retry.
            return error.cause == .interrupted
        }
        return false
    }
}
