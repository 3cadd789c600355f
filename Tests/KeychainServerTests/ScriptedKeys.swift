import KeychainModel
import SecretMemory

/// A call of the key vault.
enum KeyCall: Sendable {
    case make(AccessControl, group: AccessGroup, hasPassword: Bool)
    case read([UInt8], groups: [AccessGroup])
    case use([UInt8], KeyUse, groups: [AccessGroup], ItemAuthorization)
    case attest([UInt8], [UInt8], groups: [AccessGroup], ItemAuthorization)
}

/// An answer of the scripted key vault.
enum KeyAnswer: Sendable {
    /// The key, or the result of its use.
    case done
    case needs(AccessControl)
}

/// A key vault whose answers come from a closure, called with all calls so far, the current one last.
actor ScriptedKeys: KeyVault {
    typealias Script = @Sendable ([KeyCall]) async throws(KeychainError) -> KeyAnswer

    static let key = EnclaveKey(
        representation: [1, 2, 3],
        publicKey: [4] + [UInt8](repeating: 9, count: 64),
        accessControl: AccessControl(accessibility: .whenUnlocked),
        isHardware: false
    )
    static let result = [UInt8](repeating: 5, count: 64)

    private let script: Script
    private(set) var calls: [KeyCall] = []

    init(_ script: @escaping Script = { _ throws(KeychainError) in .done }) {
        self.script = script
    }

    func makeKey(
        _ accessControl: AccessControl,
        group: AccessGroup,
        limits: KeyLimits,
        applicationPassword: ApplicationPassword?
    ) async throws(KeychainError) -> EnclaveKey {
        calls.append(.make(accessControl, group: group, hasPassword: applicationPassword != nil))
        _ = try await script(calls)
        return Self.key
    }

    func key(_ representation: [UInt8], groups: [AccessGroup]) async throws(KeychainError) -> EnclaveKey {
        calls.append(.read(representation, groups: groups))
        _ = try await script(calls)
        return Self.key
    }

    func use(
        _ representation: [UInt8],
        for use: KeyUse,
        groups: [AccessGroup],
        authorization: ItemAuthorization
    ) async throws(KeychainError) -> VaultOutcome<SecretBytes> {
        calls.append(.use(representation, use, groups: groups, authorization))
        switch try await script(calls) {
        case .done: return .done(SecretBytes(copying: Self.result))
        case .needs(let control): return .needsUser([control])
        }
    }

    func attest(
        _ representation: [UInt8],
        qualifyingData: [UInt8],
        groups: [AccessGroup],
        authorization: ItemAuthorization
    ) async throws(KeychainError) -> VaultOutcome<Attestation> {
        calls.append(.attest(representation, qualifyingData, groups: groups, authorization))
        switch try await script(calls) {
        case .done: return .done(Attestation(publicKey: Self.key.publicKey, evidence: nil))
        case .needs(let control): return .needsUser([control])
        }
    }

    func attestationIdentity() async throws(KeychainError) -> AttestationIdentity {
        throw KeychainError(.unimplemented)
    }

    func activate(_ challenge: ActivationChallenge) async throws(KeychainError) -> SecretBytes {
        throw KeychainError(.unimplemented)
    }

    func quote(nonce: [UInt8]) async throws(KeychainError) -> BootQuote {
        throw KeychainError(.unimplemented)
    }
}
