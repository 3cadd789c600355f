internal import KeychainModel

/// Repairs the items after damage or tampering: keeps what is valid, once the user, with the passcode, accepts it as the
/// present state (``Keybag/repair(proof:accepting:)``).
extension SealedItems {
    /// What the hardware counted, as far as a repair is concerned.
    struct HardwareCount {
        /// The generation; nil without hardware.
        var generation: UInt64?
        /// Whether the items are accepted whatever their generation.
        var isAdopting: Bool
    }

    /// The hardware's count, if it was asked since the start.
    ///
    /// - Throws: ``KeychainError`` if the items are an older copy, which only the recovery code can accept.
    func knownGeneration() throws(KeychainError) -> UInt64? {
        try withState { (state) throws(KeychainError) in
            if let fault = state.fault, fault.cause == .rolledBack { throw fault }
            return state.countedGeneration
        }
    }

    /// Looks for damaged and outdated items; with `accepting`, makes the valid ones the present state.
    ///
    /// Part by part: others use the items meanwhile, as far as the damage lets them, and what they change is kept. Runs on
    /// no actor, so that the keybag can be locked meanwhile, which ends it.
    ///
    /// - Parameters:
    ///   - counted: the hardware's count.
    ///   - keybag: the revision of the open keybag.
    ///   - accepting: whether the valid items become the present state.
    /// - Returns: what was found, and the new name of the former file if it was replaced.
    /// - Throws: ``KeychainError``; with `errSecInteractionNotAllowed` after a lock, and with the remedy to try again if
    ///   other files were opened meanwhile. Nothing was changed then.
    @concurrent
    func repair(
        _ counted: HardwareCount,
        keybag: UInt64,
        accepting: Bool
    ) async throws(KeychainError) -> StoreRepair {
        let context = try keys.context()
        if let whole = wholeItems(counted, keybag: keybag) { return whole }
        let repair = try ItemRepair(of: self, context, counted, keybag: keybag)
        defer { repair.end() }
        // Writing the items is the other half.
        try repair.examine(parts: accepting ? 2 : 1)
        guard accepting, !repair.report.isWell else { return repair.report }
        return try repair.replaceItems()
    }
}

extension StoreRepair {
    /// Whether every item that the record of the set names was found as it was last stored.
    var isComplete: Bool { items.isEmpty && unnamed == 0 && missing == 0 && !isRecordDamaged }
}
