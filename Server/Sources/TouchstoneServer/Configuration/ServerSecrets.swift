internal import AccountStore
internal import Crypto

/// The keys shared by all servers on one store.
struct ServerSecrets: Sendable {
    /// The key for nonces of DPoP proofs.
    let nonces: [UInt8]
    /// The key for fictitious credential ids of unknown users.
    private let strangers: SymmetricKey

    /// Reads the keys from the store; the first server creates them.
    init(_ store: any AccountStore) async throws(StoreError) {
        nonces = try await store.sharedSecret(named: "dpop-nonces", proposing: Random.bytes(32))
        strangers = SymmetricKey(
            data: try await store.sharedSecret(named: "strangers", proposing: Random.bytes(32))
        )
    }

    /// A fictitious credential id for an unknown user, always the same one (WebAuthn Level 3, section 14.6.2).
    func credentialID(ofStranger name: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(name.utf8), using: strangers))
    }
}
