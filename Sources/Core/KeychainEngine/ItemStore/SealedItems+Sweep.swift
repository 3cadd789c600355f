public import KeychainModel

/// Sweeps the items, so that damage and tampering are found before an item is used.
extension SealedItems {
    /// Reads the record of the set at the first unlock.
    func load(_ state: inout State) {
        guard let store = state.store, let context = try? keys.context() else { return }
        state.isUnread = false
        if !store.load(context) { reportTampering(store.health, &state) }
        sweepLater(&state)
    }

    /// Reads every item and the set's digest, and reports rows that are not authentic; others get their turn in between.
    public func check() -> StoreReport {
        var check = ItemCheck()
        return inSlices { state in
            do throws(KeychainError) {
                let context = try keys.context()
                let store = try usableStore(&state, context)
                guard let found = store.check(&check, context, isAwaited: { [self] in isAwaited }) else {
                    return nil
                }
                if !found.isWell { reportTampering(found, &state) }
                return found
            } catch {
                let cause = error.cause.map { "\($0.domain) \($0.code)" } ?? "status \(error.status.rawValue)"
                let fault = "the items cannot be checked: \(cause)"
                return StoreReport(
                    items: 0,
                    invalidated: 0,
                    damaged: 0,
                    isSetAuthentic: false,
                    faults: [fault]
                )
            }
        }
    }

    /// How long requests have the items to themselves between two steps of background work, which take a tenth of that.
    static let pause = Duration.milliseconds(4)

    /// Starts the background sweep of all items, once per run: a few rows at a time, with requests in between.
    func sweepLater(_ state: inout State) {
        guard state.sweep == nil else { return }
        state.sweep = Task(priority: .background) { [weak self, delays] in
            guard (try? await Task.sleep(for: delays.sweep)) != nil else { return }
            while self?.sweepOn() == true {
                guard (try? await Task.sleep(for: Self.pause)) != nil else { return }
            }
        }
    }

    /// - Returns: whether rows are left to check.
    private func sweepOn() -> Bool {
        withStateIfFree { state in
            guard let store = state.store, store.sweepState != nil, let context = try? keys.context() else {
                state.sweep = nil
                return false
            }
            guard let found = store.sweep(context) else { return true }
            state.sweep = nil
            if !found.isWell { reportTampering(found, &state) }
            endLater(&state)
            return false
        } ?? true
    }

    /// Reports damage found by a request in the same way as a sweep does.
    func noteDamage(_ error: KeychainError, _ state: inout State) {
        if error.cause?.known == .filesReplaced, !state.isReplacementReported {
            state.isReplacementReported = true
            report(.tamperDetected, detail: "items: the files were replaced or moved while they are open")
        }
        guard error.status == .decode, let store = state.store else { return }
        store.health.damaged = max(1, store.health.damaged)
        reportTampering(store.health, &state)
    }

    /// Reports once per run that items were damaged or tampered with.
    private func reportTampering(_ found: StoreReport, _ state: inout State) {
        guard !state.isTamperingReported else { return }
        state.isTamperingReported = true
        let set = found.isSetAuthentic ? "" : ", set not authentic"
        report(
            .tamperDetected,
            detail: "items: \(found.damaged) damaged, \(found.faults.count) faults\(set)"
        )
    }

    // MARK: Known faults

    /// The cause with which the use of items would fail; nil if no fault is known.
    public func itemsFault() -> DriverCause? {
        withState { state in
            if let fault = state.fault { return fault.cause ?? .damaged }
            if let cause = state.placeFault?.cause { return cause }
            guard !storeFaults(state).isEmpty else { return nil }
            return state.store?.itemSet.digest == nil ? .setDamaged : .damaged
        }
    }

    /// The known faults of the items, as text; empty if there are none.
    public func storeFaults() -> [String] {
        withState { state in storeFaults(state) }
    }

    private func storeFaults(_ state: borrowing State) -> [String] {
        if let fault = state.fault {
            switch fault.cause {
            case .logDamaged?: return ["the log of recent changes is damaged"]
            case .rolledBack?: return ["the store is an older copy"]
            default:
                return [fault.isOfDisk ? ItemStore.description(of: fault) : "the file of items is damaged"]
            }
        }
        if state.placeFault != nil { return ["the files were replaced or moved while they are open"] }
        guard let store = state.store, keys.current.context != nil else { return [] }
        var faults = store.health.faults
        if store.health.damaged > 0 { faults.append("\(store.health.damaged) damaged") }
        let isKnownWrong = store.comparison.map { !$0.isWhole } ?? false
        if !store.health.isSetAuthentic || isKnownWrong {
            faults.append("rows were added, removed or rolled back from outside")
        }
        return faults
    }
}

extension SealedItems.State {
    /// Why nothing can be stored: the names of the files lead to others; nil if they do not.
    fileprivate var placeFault: KeychainError? {
        do throws(KeychainError) {
            try store?.database.checkPlace()
            return nil
        } catch {
            return error
        }
    }
}

extension KeychainError {
    /// Whether it is about the disk, which says nothing about the bytes on it.
    fileprivate var isOfDisk: Bool {
        switch status {
        case .readOnly, .diskFull, .io, .allocate, .notAvailable: true
        default: false
        }
    }
}
