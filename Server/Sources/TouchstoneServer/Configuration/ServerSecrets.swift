internal import AccountStore
internal import Crypto

/// The keys that all servers on one store share.
struct ServerSecrets: Sendable {
    /// For nonces of DPoP proofs.
    let nonces: [UInt8]
    /// For credential ids that unknown users seem to have.
    private let strangers: SymmetricKey

    /// Takes them from the store; the first server to ask makes them.
    init(_ store: any AccountStore) async throws(StoreError) {
        nonces = try await store.sharedSecret(named: "dpop-nonces", proposing: Random.bytes(32))
        strangers = SymmetricKey(
            data: try await store.sharedSecret(named: "strangers", proposing: Random.bytes(32))
        )
    }

    /// A credential id that an unknown user seems to have, always the same one (WebAuthn Level 3, section 14.6.2).
    func credentialID(ofStranger name: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(name.utf8), using: strangers))
    }
}
