internal import KeychainClient
internal import KeychainModel

extension KeychainLink {
    /// Deletes all items of this module, in one transaction.
    func deleteEverything() async throws(TouchstoneError) {
        let prompt = fields(nil)
        try await call { client, cancellation throws(TouchstoneError) in
            try below { () throws(KeychainError) in
                // Each round takes as many as a request may name.
                try ifPresent { () throws(KeychainError) in
                    while try client.deleteSome(prompt, cancellation) {}
                }
            }
        }
    }
}

extension RemoteKeychain {
    /// - Returns: whether there may be more.
    fileprivate func deleteSome(
        _ prompt: PromptFields,
        _ cancellation: Cancellation
    ) throws(KeychainError) -> Bool {
        let all = ItemQuery(
            itemClass: .genericPassword,
            limit: .all,
            returns: [.attributes, .persistentRef, .invalidated]
        )
        var references: [PersistentReference] = []
        let found = try copy(CopyItems(query: all, prompt: prompt), cancellation: cancellation)
        found.forEach { item in
            guard case .string(let service)? = item.attributes?[.service],
                service.hasPrefix(StorePlace.prefix) || service.hasPrefix(KeyPlace.prefix)
            else { return }
            if let reference = item.reference { references.append(reference) }
        }
        guard !references.isEmpty else { return false }
        let some = Array(references.prefix(ItemLimits.mostReferences))
        let query = ItemQuery(
            itemClass: .genericPassword,
            limit: .all,
            returns: .invalidated,
            references: some
        )
        try delete(DeleteItems(query: query, prompt: prompt), cancellation: cancellation)
        return references.count > some.count
    }
}
