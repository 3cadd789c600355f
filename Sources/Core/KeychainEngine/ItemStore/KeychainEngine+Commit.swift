internal import KeychainModel

/// How changes become durable: together where several wait, alone where the engine is free.
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

    /// Queues a change: whatever is queued when the engine gets to it is committed together.
    func queue(_ write: PendingWrite) {
        pendingWrites.append(write)
        guard !isCommitDue else { return }
        isCommitDue = true
        // Lets those in who wait for this actor already: they share the commit.
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
                // Hardware has to follow where there is no result: no thread waits for that.
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
            // What is reported done stays done, whatever is put back later.
            await settleGeneration()
            finish(writes)
        }
    }

    /// Commits a change alone, which nobody shares a commit with while the engine is free.
    ///
    /// - Returns: nil where hardware would have to follow first: nothing was done then.
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

    /// Brings the log into the file once no more changes come, and gives the disk back what deletions left free: what is
    /// in one place alone is lost with that place.
    private func settleLater() {
        lastCommit = .now
        guard settling == nil else { return }
        settling = Task(priority: .background) { [weak self, delays] in
            repeat {
                guard (try? await Task.sleep(for: delays.idle)) != nil else { return }
            } while await self?.settle() == true
        }
    }

    /// - Returns: whether to wait once more.
    private func settle() -> Bool {
        guard ContinuousClock.now - lastCommit >= delays.idle else { return true }
        settling = nil
        guard let store else { return false }
        store.settleLog()
        guard let context = try? context(), store.isShrinkDue else { return false }
        do throws(KeychainError) {
            try store.shrink(context) { executor.isAwaited }
        } catch {
            // Whoever came in between goes first; without a change nothing is tried again.
            return error.cause == .interrupted
        }
        return false
    }
}
