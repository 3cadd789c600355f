import AccountStore
import Testing

@Suite("Attested keys that are no credentials, in both stores")
struct AttestedKeyTests {
    private func key(_ number: UInt8, of account: Account) -> AttestedKey {
        AttestedKey(
            id: AttestedKeyID([UInt8](repeating: number, count: 32)),
            account: account.id,
            purpose: "Signing",
            name: "orders\(number)",
            publicKey: [4] + [UInt8](repeating: number, count: 64),
            deviceAnchor: number.isMultiple(of: 2) ? nil : [number],
            createdAt: start + .seconds(Int64(number))
        )
    }

    @Test(
        "they are kept as they were added, up to a limit, and end with their account",
        arguments: StoreKind.allCases
    )
    func life(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let (person, other) = (try await Person(store), try await Person(store, "berta"))
            let event = Sample.event(.deviceKeyRegistered)
            let keys = (0..<UInt8(3)).map { key($0, of: person.account) }
            for key in keys.reversed() { try await store.addAttestedKey(key, audit: event, now: start) }
            #expect(try await store.attestedKeys(of: person.account.id) == keys, "oldest first")
            await #expect(throws: StoreError(.conflict(.credentialExists))) {
                try await store.addAttestedKey(key(0, of: other.account), audit: event, now: start)
            }
            await #expect(throws: StoreError(.notFound)) {
                try await store.removeAttestedKey(keys[0].id, of: other.account.id, audit: event, now: start)
            }
            try await store.removeAttestedKey(
                keys[0].id,
                of: person.account.id,
                audit: Sample.event(.deviceKeyRemoved),
                now: start
            )
            for number in 3..<UInt8(Limits.attestedKeys + 1) {
                try await store.addAttestedKey(key(number, of: person.account), audit: event, now: start)
            }
            await #expect(throws: StoreError(.conflict(.tooManyCredentials))) {
                try await store.addAttestedKey(key(200, of: person.account), audit: event, now: start)
            }
            #expect(try await person.audit().contains("device_key_removed"))
            try await store.deleteAccount(
                person.account.id,
                audit: Sample.event(.userDeleted),
                now: start
            )
            #expect(try await store.attestedKeys(of: person.account.id) == [])
            // The key's id is free again.
            try await store.addAttestedKey(key(1, of: other.account), audit: event, now: start)
        }
    }
}
