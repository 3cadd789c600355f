internal import KeychainModel

extension SealedItems {
    /// The findings of a repair if nothing is wrong: all items are authentic, and neither they nor the keybag are older.
    ///
    /// - Returns: nil if something is wrong.
    func wholeItems(_ counted: HardwareCount, keybag: UInt64) -> StoreRepair? {
        let isCurrent = withState { state in
            guard state.fault == nil, let digest = state.store?.itemSet.digest else { return false }
            guard digest.keybag <= keybag else { return false }
            let generation = state.countedGeneration ?? counted.generation
            guard let generation, !counted.isAdopting else { return true }
            return digest.generation == generation || digest.generation == generation &+ 1
        }
        guard isCurrent else { return nil }
        let report = check()
        guard report.isWell else { return nil }
        var whole = StoreRepair()
        whole.kept = report.items + report.invalidated
        return whole
    }
}
