public import KeychainModel
internal import Primitives
internal import SecretMemory

/// The keybag key in the keeping of hardware that forgets it with a restart: after a lock, a finger is enough to
/// unlock again, and what is left in memory opens nothing without that very chip.
extension KeychainEngine {
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
        let record = try authenticRecord()
        let keybagKey: Key
        do throws(KeychainError) {
            let authorization = escrow.authorization.copy()
            keybagKey = Key(try await counters.openEscrow(escrow.blob, authorization: authorization))
        } catch {
            self.escrow = nil
            throw KeychainError(.authFailed, cause: error.cause, remedy: .usePasscode)
        }
        try await unlock(record, with: keybagKey)
        report(.keybagUnlocked, factors: [.biometry])
    }

    /// Lets go of the escrow.
    public func forgetEscrow() { escrow = nil }

    /// Gives the key of a keybag that was just unlocked into escrow; without hardware, or when it refuses, the
    /// next unlocking needs the passcode.
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
