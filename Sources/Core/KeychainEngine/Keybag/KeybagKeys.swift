internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// Wraps and unwraps the keys of a record.
enum KeybagKeys {
    /// The key derived from a passcode and this machine's device secret.
    static func passcodeKey(stretched: Key, device: Key, storeID: [UInt8]) -> Key {
        KeyDerivation.derive(.keybagPasscode, from: [stretched, device], salt: storeID)
    }

    /// The authorisation that the device secret is sealed with.
    static func sealAuthorization(stretched: Key, storeID: [UInt8]) -> Key {
        KeyDerivation.derive(.sealAuthorization, from: [stretched], salt: storeID)
    }

    /// The key that wraps the private half for items constrained to the passcode.
    static func constraintKey(passcodeKey: Key, storeID: [UInt8]) -> Key {
        KeyDerivation.derive(.passcodePrivateKey, from: [passcodeKey], salt: storeID)
    }

    /// The key of the seal of a record (``StoredKeybag``).
    static func sealKey(keybagKey: Key, storeID: [UInt8]) -> Key {
        KeyDerivation.derive(.keybagSeal, from: [keybagKey], salt: storeID)
    }

    /// The keys derived from the recovery code.
    static func recoveryKeys(code: Key, storeID: [UInt8]) -> (keybag: Key, constraint: Key) {
        (
            KeyDerivation.derive(.keybagRecovery, from: [code], salt: storeID),
            KeyDerivation.derive(.passcodePrivateKeyRecovery, from: [code], salt: storeID)
        )
    }

    /// What the recovery code opens of a record: the keybag key, and the private key for items constrained to the passcode, nil
    /// if its wrap is damaged.
    ///
    /// - Returns: nil for another code, or a damaged wrap of the keybag key, which cannot be distinguished.
    static func opened(
        _ record: KeybagRecord,
        byRecovery code: Key
    ) -> (keybagKey: Key, privateKey: Key?)? {
        let keys = recoveryKeys(code: code, storeID: record.storeID)
        guard let keybagKey = unwrap(record.recoveryWrap, byRecovery, in: record, with: keys.keybag) else {
            return nil
        }
        let wrapped = record.passcodePrivateRecoveryWrap
        return (keybagKey, unwrap(wrapped, privateByRecovery, in: record, with: keys.constraint))
    }

    /// The keys that wrap the keys of a record: the keybag key and, for the current set's key, also the secret of the
    /// enrolment epoch if hardware keeps one.
    struct Wrapping {
        let keybagKey: Key
        let epoch: Key?

        fileprivate func key(for name: KeybagKeyName, of record: KeybagRecord) -> Key {
            guard name == .biometryCurrentSet, let epoch else { return keybagKey }
            return KeyDerivation.derive(.enrolmentEpoch, from: [keybagKey, epoch], salt: record.storeID)
        }
    }

    /// Unwraps all keys of a record.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` if a key is missing or not authentic.
    static func unwrapAll(of record: KeybagRecord, with wrapping: Wrapping) throws(KeychainError) -> KeyRing {
        let seal = sealKey(keybagKey: wrapping.keybagKey, storeID: record.storeID)
        return try KeyRing(seal: seal) { (name) throws(KeychainError) in
            try unwrap(name, of: record, with: wrapping)
        }
    }

    /// Unwraps one key of a record; nil if it has none.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` if the key is not authentic.
    static func unwrap(
        _ name: KeybagKeyName,
        of record: KeybagRecord,
        with wrapping: Wrapping
    ) throws(KeychainError) -> Key? {
        guard let wrapped = record.keys[name.rawValue] else { return nil }
        do {
            let context = record.context(of: name)
            let key = wrapping.key(for: name, of: record).symmetric
            return try AEAD.openKey(wrapped, with: key, authenticating: context)
        } catch {
            throw .damaged
        }
    }

    /// Wraps a key of a record.
    static func wrap(
        _ key: Key,
        as name: KeybagKeyName,
        in record: inout KeybagRecord,
        with wrapping: Wrapping
    ) {
        let context = record.context(of: name)
        let outer = wrapping.key(for: name, of: record).symmetric
        record.keys[name.rawValue] = AEAD.seal(key, with: outer, authenticating: context)
    }

    /// Unwraps a single key; nil if `key` is not the one it was wrapped with.
    static func unwrap(_ wrapped: [UInt8], _ name: String, in record: KeybagRecord, with key: Key) -> Key? {
        try? AEAD.openKey(wrapped, with: key.symmetric, authenticating: record.context(name))
    }

    /// Wraps a single key under a name.
    static func wrap(_ wrapped: Key, _ name: String, storeID: [UInt8], with key: Key) -> [UInt8] {
        let context = KeybagRecord.context(name, storeID: storeID)
        return AEAD.seal(wrapped, with: key.symmetric, authenticating: context)
    }

    /// The names of single wraps.
    static let byPasscode = "keybag key by passcode"
    static let byRecovery = "keybag key by recovery"
    static let privateByPasscode = "passcode private key by passcode"
    static let privateByRecovery = "passcode private key by recovery"
}
