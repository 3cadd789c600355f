import KeychainModel

/// The daemon's own records: items without flags, which need neither the user nor a derived key.
extension ItemVault {
    /// Stores a record durably, and has the hardware count it.
    func addRecord(_ item: borrowing NewItem, group: AccessGroup) async throws(KeychainError) {
        switch try add(item, group: group, authorization: ItemAuthorization()) {
        case .done: break
        case .needsHardware: await settle()
        case .needsUser: throw KeychainError(.internalComponent)
        case .needsKey: throw KeychainError(.internalComponent)
        }
    }

    /// Deletes the records that a query finds.
    func deleteRecords(_ query: ItemQuery, group: AccessGroup) async throws(KeychainError) {
        if case .needsHardware = try delete(query, groups: [group]) { await settle() }
    }
}
