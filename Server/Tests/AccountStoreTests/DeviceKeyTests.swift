import AccountStore
import Testing

@Suite("The life of a device's key")
struct DeviceKeyTests {
    private static let key = [UInt8](repeating: 4, count: 32)

    private static func proof() -> ProofIdentifier {
        ProofIdentifier(
            digest: Identifier<Never>.random(byteCount: 32).bytes,
            expiresAt: start + .seconds(60)
        )
    }

    @Test(
        "a device ends the credential that it registered with its session key, and nothing else",
        arguments: StoreKind.allCases
    )
    func ends(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store, thumbprint: Self.key)
            let stranger = try await Person(store, "eve", thumbprint: [UInt8](repeating: 9, count: 32))
            let passkey = Sample.credential(person.account)
            _ = try await store.registerCredential(
                passkey,
                keeping: nil,
                audit: Sample.event(.credentialRegistered),
                now: start
            )
            let (own, other) = (Sample.tokens(), Sample.tokens())
            _ = try await person.logIn(tokens: own)
            _ = try await store.completeLogin(
                LoginCompletion(
                    method: .credential(Sample.use(passkey, signCount: 0)),
                    session: Sample.session(person.account, credential: passkey),
                    tokens: other,
                    audit: Sample.event(),
                    now: start
                )
            )
            func end(
                _ id: CredentialID,
                _ thumbprint: [UInt8] = Self.key,
                _ proof: ProofIdentifier = Self.proof(),
                as reason: Credential.Suspension = .invalidated
            ) async throws -> ProofVerdict {
                try await store.endCredential(
                    id,
                    provedBy: thumbprint,
                    proof,
                    as: reason,
                    audit: AuditEvent(.credentialSuspended, credential: id, reason: reason.rawValue),
                    now: start
                )
            }
            // Of another device, without a device, and unknown.
            for id in [stranger.credential.id, passkey.id, .random(byteCount: 32)] {
                await #expect(throws: StoreError(.notFound)) { _ = try await end(id) }
            }
            await #expect(throws: StoreError(.notFound)) { _ = try await end(person.credential.id, [1]) }
            let kept = try await store.credential(person.credential.id, of: person.account.id)
            #expect(kept?.suspension == nil)

            let proof = Self.proof()
            #expect(try await end(person.credential.id, Self.key, proof) == .fresh)
            #expect(try await end(person.credential.id, Self.key, proof) == .replayed)
            #expect(try await person.audit().last == "credential_suspended invalidated")
            let records = try await person.audit().count
            // The first reason stays, and is in the audit once.
            #expect(try await end(person.credential.id, as: .deleted) == .fresh)
            let ended = try await store.credential(person.credential.id, of: person.account.id)
            #expect(ended?.suspension == .invalidated)
            #expect(try await person.audit().count == records)
            #expect(try await person.logIn() == .refused(.credentialSuspended))
            #expect(try await store.liveSession(own.access, .access, now: start) == nil)
            #expect(try await store.liveSession(other.access, .access, now: start) != nil)
            #expect(try await store.credential(passkey.id, of: person.account.id)?.suspension == nil)
        }
    }

    @Test(
        "a credential that its successor replaces signs in until it is removed, and leaves it its label",
        arguments: StoreKind.allCases
    )
    func replaced(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store, thumbprint: Self.key)
            func register(_ thumbprint: [UInt8], replacing replaced: CredentialID) async throws
                -> RegisteredCredential
            {
                var new = Sample.credential(person.account, thumbprint: thumbprint)
                new.label = person.credential.label
                return try await store.registerCredential(
                    new,
                    keeping: nil,
                    task: nil,
                    replacing: replaced,
                    audit: Sample.event(.credentialRegistered),
                    now: start
                )
            }
            let successor = try await register(Self.key, replacing: person.credential.id)
            #expect(successor.superseded.isEmpty)
            #expect(successor.credential.label == person.credential.label)
            #expect(try await person.logIn().session != nil)
            // One that was interrupted is superseded by the next; only what is named stays.
            let next = try await register(Self.key, replacing: person.credential.id)
            #expect(next.superseded == [successor.credential.id])
            #expect(try await person.logIn().session != nil)
            // Another device replaces nothing of this one.
            let foreign = try await register([1], replacing: person.credential.id)
            #expect(foreign.superseded.isEmpty && foreign.credential.label != person.credential.label)
            let last = try await register(Self.key, replacing: foreign.credential.id)
            #expect(Set(last.superseded) == [person.credential.id, next.credential.id])
        }
    }
}
