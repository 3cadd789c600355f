internal import Foundation
internal import KeychainModel
internal import SecretMemory

/// Wraps and unwraps the keys of a record.
enum KeybagKeys {
    /// The key that stands for a passcode and this machine together.
    static func passcodeKey(stretched: Key, device: Key, storeID: [UInt8]) -> Key {
        KeyDerivation.derive("keybag passcode", from: [stretched, device], salt: storeID)
    }

    /// What the device's secret is bound to.
    static func sealAuthorization(stretched: Key, storeID: [UInt8]) -> Key {
        KeyDerivation.derive("seal authorization", from: [stretched], salt: storeID)
    }

    /// The key that stands for the passcode in items constrained to it.
    static func constraintKey(passcodeKey: Key, storeID: [UInt8]) -> Key {
        KeyDerivation.derive("passcode private key", from: [passcodeKey], salt: storeID)
    }

    /// The keys that the recovery code stands for.
    static func recoveryKeys(code: Key, storeID: [UInt8]) -> (keybag: Key, constraint: Key) {
        (
            KeyDerivation.derive("keybag recovery", from: [code], salt: storeID),
            KeyDerivation.derive("passcode private key recovery", from: [code], salt: storeID)
        )
    }

    /// Opens all keys of a record.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` when one is missing or not authentic.
    static func unwrapAll(of record: KeybagRecord, with keybagKey: Key) throws(KeychainError) -> KeyRing {
        var ring = KeyRing()
        ring.keybagKey = keybagKey
        let wrapping = keybagKey.symmetric
        for name in KeybagKeyName.allCases {
            guard let wrapped = record.keys[name.rawValue] else {
                // Destroyed by a change of the enrolled set that came while the keybag was locked.
                if name == .biometryCurrentSet { continue }
                throw .damaged
            }
            do {
                let context = record.context(of: name)
                ring[name] = try AEAD.openKey(Data(wrapped), with: wrapping, authenticating: context)
            } catch {
                throw .damaged
            }
        }
        return ring
    }

    /// Wraps a key of a record.
    static func wrap(_ key: Key, as name: KeybagKeyName, in record: inout KeybagRecord, with keybagKey: Key) {
        let context = record.context(of: name)
        record.keys[name.rawValue] = Array(AEAD.seal(key, with: keybagKey.symmetric, authenticating: context))
    }

    /// Opens a single wrapped key; nil when `key` is not its own.
    static func unwrap(_ wrapped: [UInt8], _ name: String, in record: KeybagRecord, with key: Key) -> Key? {
        try? AEAD.openKey(Data(wrapped), with: key.symmetric, authenticating: record.context(name))
    }

    /// Wraps a single key under a name.
    static func wrap(_ wrapped: Key, _ name: String, storeID: [UInt8], with key: Key) -> [UInt8] {
        let context = KeybagRecord.context(name, storeID: storeID)
        return Array(AEAD.seal(wrapped, with: key.symmetric, authenticating: context))
    }

    /// The names of single wraps.
    static let byPasscode = "keybag key by passcode"
    static let byRecovery = "keybag key by recovery"
    static let privateByPasscode = "passcode private key by passcode"
    static let privateByRecovery = "passcode private key by recovery"
}
