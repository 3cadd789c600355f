internal import KeychainModel

/// The hardware's count of the store's generation (``SealedItems``), as far as the keybag's record is concerned.
extension Keybag {
    /// The hardware's count for a record's store; nil without hardware.
    ///
    /// - Throws: ``KeychainError`` if the hardware does not answer, or if its counter is gone: then the store cannot be
    ///   proved current, and the recovery code is needed.
    func hardwareGeneration(of record: KeybagRecord) async throws(KeychainError) -> UInt64? {
        guard let counters, let names = record.hardware else { return nil }
        return try await counters.generation(names.generation)
    }

    /// Compares the items with the hardware's count.
    func compareGenerations(with counted: UInt64, adopting: Bool) async throws(KeychainError) {
        let found = try items.compare(with: counted, adopting: adopting)
        try await settle(found, adopting: adopting, at: counted)
    }

    /// Records whether the items were accepted with `adopting`, and lets the hardware follow them.
    func settle(
        _ found: SealedItems.Comparison,
        adopting: Bool,
        at counted: UInt64?
    ) async throws(KeychainError) {
        if adopting || found == .current, var record, let hardware = record.hardware {
            // The acceptance by the recovery code also applies to a later repair of the items.
            let adoptsAt = found == .current ? nil : counted
            if hardware.adoptsAt != adoptsAt {
                record.hardware?.adoptsAt = adoptsAt
                try writeKeybag(&record)
            }
        }
        if found == .current { await items.settle() }
    }
}
