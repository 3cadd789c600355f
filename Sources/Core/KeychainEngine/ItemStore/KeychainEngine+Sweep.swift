public import KeychainModel

/// Sweeps the items, so that damage and tampering are found before an item is used.
extension KeychainEngine {
    /// Reads the record of the set at the first unlock.
    func openStore(isFirst: Bool) {
        guard isFirst, let store, let context = try? context() else { return }
        if !store.load(context) { reportTampering(store.health) }
        sweepLater()
    }

    /// Deletes the wraps of items bound to a replaced enrolled set.
    func invalidateItems() -> Int {
        guard let store, let context = try? context() else { return 0 }
        let count = (try? store.dropCurrentSetWraps(context)) ?? 0
        store.purge()
        return count
    }

    /// Reads every item and the set's digest, and reports rows that are not authentic.
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

    /// How long requests have the daemon to themselves between two sweep steps, which take a tenth of that.
    private static let sweepPause = Duration.milliseconds(4)

    /// Starts the background sweep of all items, once per run: a few rows at a time, with requests in between.
    func sweepLater() {
        guard sweep == nil else { return }
        sweep = Task(priority: .background) { [weak self, delays] in
            guard (try? await Task.sleep(for: delays.sweep)) != nil else { return }
            while await self?.sweepOn() == true {
                guard (try? await Task.sleep(for: Self.sweepPause)) != nil else { return }
            }
        }
    }

    /// - Returns: whether rows are left to check.
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

    /// Reports damage found by a request in the same way as a sweep does.
    func noteDamage(_ error: KeychainError) {
        guard error.status == .decode, let store else { return }
        store.health.damaged = max(1, store.health.damaged)
        reportTampering(store.health)
    }

    /// Reports once per run that items were damaged or tampered with.
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
