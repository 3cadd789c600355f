import KeychainModel
import SecretMemory

/// Says that a part of the keychain is a test part; seals as the real sealer does.
struct TestAssurance: KeySealer {
    private let sealer: any KeySealer

    init(of sealer: any KeySealer) { self.sealer = sealer }

    func assurance(of blob: [UInt8]?) async -> AssuranceReport {
        let reasons = await sealer.assurance(of: blob).reasons
        return AssuranceReport(.test, reasons: ["Test parts are configured."] + reasons)
    }

    func isBest(_ blob: [UInt8]) async -> Bool { await sealer.isBest(blob) }

    func seal(authorization: borrowing SecretBytes) async throws(KeychainError) -> SealedDeviceSecret {
        try await sealer.seal(authorization: authorization)
    }

    func unseal(
        _ blob: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SecretBytes {
        try await sealer.unseal(blob, authorization: authorization)
    }

    func countedFailures(of blob: [UInt8]) async throws(KeychainError) -> Int? {
        try await sealer.countedFailures(of: blob)
    }

    func removeLeftovers(keeping blob: [UInt8]?) async { await sealer.removeLeftovers(keeping: blob) }

    func destroy(_ blob: [UInt8]) async { await sealer.destroy(blob) }
}
