public import KeychainModel

/// Looking through the items: what is not as it was left is found before it is used.
extension KeychainEngine {
    /// Reads at the first unlock what speaks for all items.
    func openStore(isFirst: Bool) {
        guard isFirst, let store, let context = try? context() else { return }
        if !store.load(context) { reportTampering(store.health) }
        sweepLater()
    }

    /// Deletes the wraps of items whose enrolled set is gone.
    func invalidateItems() -> Int {
        guard let store, let context = try? context() else { return 0 }
        let count = (try? store.dropCurrentSetWraps(context)) ?? 0
        store.purge()
        return count
    }

    /// Reads every item and the set's digest, and reports what is not authentic.
    public func check() async -> StoreReport {
        do throws(KeychainError) {
            let context = try context()
            let found = try usableStore(context).check(context)
            if !found.isWell { reportTampering(found) }
            return found
        } catch {
            let cause = error.cause.map { "\($0.domain) \($0.code)" } ?? "status \(error.status.rawValue)"
            let fault = "the items cannot be checked: \(cause)"
            return StoreReport(items: 0, invalidated: 0, damaged: 0, isSetAuthentic: false, faults: [fault])
        }
    }

    /// How long requests have the daemon to themselves between two looks, which take a tenth of that.
    private static let sweepPause = Duration.milliseconds(4)

    /// Looks through all items in the background, once in a run: some at a time, requests in between.
    func sweepLater() {
        guard sweep == nil else { return }
        sweep = Task(priority: .background) { [weak self, delays] in
            guard (try? await Task.sleep(for: delays.sweep)) != nil else { return }
            while await self?.sweepOn() == true {
                guard (try? await Task.sleep(for: Self.sweepPause)) != nil else { return }
            }
        }
    }

    /// - Returns: whether there is more to look at.
    private func sweepOn() -> Bool {
        guard let store, store.sweepState != nil, let context = try? context() else {
            sweep = nil
            return false
        }
        guard let found = store.sweep(context) else { return true }
        sweep = nil
        if !found.isWell { reportTampering(found) }
        return false
    }

    /// What a request came upon is told as what a look through all items finds.
    func noteDamage(_ error: KeychainError) {
        guard error.status == .decode, let store else { return }
        store.health.damaged = max(1, store.health.damaged)
        reportTampering(store.health)
    }

    /// Tells once in a run that the items are not as they were left.
    private func reportTampering(_ found: StoreReport) {
        guard !isTamperingReported else { return }
        isTamperingReported = true
        let set = found.isSetAuthentic ? "" : ", set not authentic"
        report(
            .tamperDetected,
            detail: "items: \(found.damaged) damaged, \(found.faults.count) faults\(set)"
        )
    }
}
