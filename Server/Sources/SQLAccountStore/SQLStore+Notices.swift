package import AccountStore

extension SQLStore {
    package func takeNotices(
        count: Int,
        until lease: Timestamp,
        now: Timestamp
    ) async throws(StoreError) -> [Notice] {
        // Mostly none is due, and nothing has to be written.
        guard try await engine.read({ try $0.hasDueNotice(now: now) }) else { return [] }
        return try await engine.write(.serializable) {
            try $0.takeNotices(count: count, until: lease, now: now)
        }
    }

    package func removeNotice(_ id: [UInt8]) async throws(StoreError) {
        try await engine.write(.eachStatement) { try $0.removeNotice(id) }
    }

    package func postponeNotice(_ id: [UInt8], until time: Timestamp) async throws(StoreError) {
        try await engine.write(.eachStatement) { try $0.postponeNotice(id, until: time) }
    }
}
