public import KeychainModel
internal import Primitives
internal import SecretMemory

/// The keybag key in escrow with hardware that forgets it at a restart.
///
/// After a lock, a finger is then enough to unlock again; the data left in memory is useless without that very chip.
extension Keybag {
    /// A key in escrow.
    struct Escrow {
        let blob: [UInt8]
        let authorization: Key
    }

    /// Whether a finger can unlock a locked keybag.
    public func holdsEscrow() -> Bool { escrow != nil }

    /// Unlocks a locked keybag with a proof of biometry.
    public func open(with proof: AuthenticationProof) async throws(KeychainError) {
        await enterKeybag()
        defer { leaveKeybag() }
        guard proof.factors.contains(.biometry), let counters, let escrow else {
            throw KeychainError(.authFailed, remedy: .usePasscode)
        }
        let stored = try storedKeybag()
        let keybagKey: Key
        do throws(KeychainError) {
            let authorization = escrow.authorization.copy()
            keybagKey = Key(try await counters.openEscrow(escrow.blob, authorization: authorization))
        } catch {
            self.escrow = nil
            throw KeychainError(.authFailed, cause: error.cause, remedy: .usePasscode)
        }
        try await verify(stored, keybagKey, nil)
        try await unlock(stored.record, with: keybagKey)
        report(.keybagUnlocked, factors: [.biometry])
    }

    /// Discards the escrow.
    public func forgetEscrow() { escrow = nil }

    /// Puts the key of a just unlocked keybag in escrow; without hardware, or if it refuses, the next unlock needs the
    /// passcode.
    func renewEscrow(of keybagKey: Key) async {
        guard escrow == nil, let counters else { return }
        let authorization = Key.random()
        do throws(KeychainError) {
            let blob = try await counters.escrow(keybagKey.copy(), authorization: authorization.copy())
            escrow = Escrow(blob: blob, authorization: authorization)
        } catch {
            report(.escrowRefused, detail: error.cause?.code ?? "")
        }
    }
}
