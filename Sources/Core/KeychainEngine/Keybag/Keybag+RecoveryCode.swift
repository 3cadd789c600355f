public import KeychainModel
internal import Primitives
public import SecretMemory

/// Making, checking and replacing the recovery code.
extension Keybag {
    /// Creates a recovery code as text.
    public nonisolated func makeRecoveryCode() throws(KeychainError) -> SecretBytes {
        RecoveryCode.make()
    }

    /// Whether a text is this keybag's recovery code.
    ///
    /// - Throws: ``KeychainError`` with `errSecParam` if its check symbols show that it was mistyped.
    public func accepts(recoveryCode: borrowing SecretBytes) async throws(KeychainError) -> Bool {
        guard let code = RecoveryCode.parse(recoveryCode) else {
            throw KeychainError(.param, cause: .mistypedRecoveryCode, remedy: .retry)
        }
        await enterKeybag()
        defer { leaveKeybag() }
        do throws(KeychainError) {
            _ = try await openWithRecovery(code)
            return true
        } catch {
            guard error.status == .authFailed else { throw error }
            return false
        }
    }

    /// Replaces the recovery code, all or nothing; passcode, items and hardware stay as they are.
    ///
    /// Both files must have the new keybag: a copy of the former one would still be opened by the former code.
    public func changeRecoveryCode(
        to code: borrowing SecretBytes,
        proof: AuthenticationProof
    ) async throws(KeychainError) {
        guard let code = RecoveryCode.parse(code) else { throw KeychainError(.param) }
        await enterKeybag()
        defer { leaveKeybag() }
        var record = try authenticRecord()
        guard let keybagKey = standing.keybagKey else { throw .locked }
        record.wrap(keybagKey, try Self.privateKey(of: proof, for: record), byRecovery: code)
        try writeKeybag(&record)
        if try !isInBothFiles(record) { try writeKeybag(&record) }
        guard try isInBothFiles(record) else {
            throw KeychainError(
                .io,
                cause: DriverCause(.unconfirmedChange, detail: "keybag.copy"),
                remedy: .check
            )
        }
        await complete()
        report(.recoveryCodeChanged)
    }

    /// Whether both files of the keybag can be read and hold a record.
    private func isInBothFiles(_ record: KeybagRecord) throws(KeychainError) -> Bool {
        let reading = try readKeybag()
        return reading.isInStep && reading.intact?.record == record
    }
}

extension KeybagRecord {
    /// Wraps the keys that a recovery code opens: the keybag key, and the private key for items constrained to the passcode.
    mutating func wrap(_ keybagKey: Key, _ privateKey: Key, byRecovery code: Key) {
        let keys = KeybagKeys.recoveryKeys(code: code, storeID: storeID)
        recoveryWrap = KeybagKeys.wrap(
            keybagKey,
            KeybagKeys.byRecovery,
            storeID: storeID,
            with: keys.keybag
        )
        passcodePrivateRecoveryWrap = KeybagKeys.wrap(
            privateKey,
            KeybagKeys.privateByRecovery,
            storeID: storeID,
            with: keys.constraint
        )
    }
}
