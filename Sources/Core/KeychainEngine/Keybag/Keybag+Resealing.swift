internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// A new passcode by the recovery code, whatever the hardware does.
extension Keybag {
    /// Seals a record for a new passcode and writes it; without the hardware if that does not answer, which is told.
    func resealed(
        _ former: KeybagRecord,
        for passcode: Key,
        _ keybagKey: Key,
        _ privateKey: Key
    ) async throws(KeychainError) -> KeybagRecord {
        let salt = RandomBytes.array(count: KeybagRecord.saltByteCount)
        let stretched = await PasscodeDerivation.derive(passcode, salt: salt, cost: former.cost)
        func sealed(
            using sealer: any KeySealer,
            isHardwareAway: Bool
        ) async throws(KeychainError) -> KeybagRecord {
            var record = try await rebound(
                former,
                to: stretched,
                salt: salt,
                keybagKey,
                privateKey,
                using: sealer
            )
            try await replace(
                former,
                with: &record,
                keybagKey: keybagKey,
                isHardwareAway: isHardwareAway
            )
            return record
        }
        let record: KeybagRecord
        do throws(KeychainError) {
            return try await sealed(using: sealer, isHardwareAway: false)
        } catch {
            guard error.cause?.known == .silentHardware, let weaker = sealer.withoutHardware else {
                throw error
            }
            record = try await sealed(using: weaker, isHardwareAway: true)
        }
        report(.assuranceLowered, detail: "\(record.assurance.name): the TPM does not answer")
        return record
    }
}
