internal import CBOR
internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// What a backup holds of its keybag: wrapped keys, which the recovery code opens and nothing else in the backup does.
///
/// CBOR `[store id, keybag key by recovery code, passcode's private key by recovery code, {name: key by keybag key}]`.
/// Only keys of items that leave their device are in it.
struct BackupKeys {
    /// The longest encoding, in bytes.
    static let longest = 2048
    private static let names: [KeybagKeyName] = [.whenUnlocked, .afterFirstUnlock, .metadata, .biometryAny]

    private let record: KeybagRecord

    /// Takes the wraps of a keybag.
    init(of record: KeybagRecord) {
        var reduced = Self.record(
            storeID: record.storeID,
            recoveryWrap: record.recoveryWrap,
            privateWrap: record.passcodePrivateRecoveryWrap
        )
        for name in Self.names { reduced.keys[name.rawValue] = record.keys[name.rawValue] }
        self.record = reduced
    }

    /// Reads an encoding.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` for anything else.
    init(decoding octets: [UInt8]) throws(KeychainError) {
        do {
            record = try CBORReader.read(octets) { reader in
                guard try reader.readArrayHead() == 4 else { throw KeychainError.exportDamaged }
                var record = Self.record(
                    storeID: try reader.readBytes(),
                    recoveryWrap: try reader.readBytes(),
                    privateWrap: try reader.readBytes()
                )
                guard record.storeID.count == KeybagRecord.storeIDByteCount,
                    try reader.readMapHead() == Self.names.count
                else { throw KeychainError.exportDamaged }
                for name in Self.names {
                    guard try reader.readUnsigned() == UInt64(name.rawValue) else {
                        throw KeychainError.exportDamaged
                    }
                    record.keys[name.rawValue] = try reader.readBytes()
                }
                return record
            }
        } catch {
            throw .exportDamaged
        }
    }

    var encoded: [UInt8] {
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: 4)
        writer.write(bytes: record.storeID)
        writer.write(bytes: record.recoveryWrap)
        writer.write(bytes: record.passcodePrivateRecoveryWrap)
        writer.writeMapHead(count: Self.names.count)
        for name in Self.names {
            writer.write(unsigned: UInt64(name.rawValue))
            writer.write(bytes: record.keys[name.rawValue] ?? [])
        }
        return writer.finish()
    }

    /// The keys of the items.
    ///
    /// - Returns: nil for another code, or wraps that are damaged, which cannot be distinguished.
    func opened(with code: Key) -> RecoveredKeys? {
        guard let (keybagKey, openedKey) = KeybagKeys.opened(record, byRecovery: code),
            let privateKey = openedKey
        else { return nil }
        let wrapping = KeybagKeys.Wrapping(keybagKey: keybagKey, epoch: nil)
        let seal = KeybagKeys.sealKey(keybagKey: keybagKey, storeID: record.storeID)
        let keys = try? KeyRing(seal: seal) { (name) throws(KeychainError) in
            // The keys of a device and of a store are not in a backup, and open nothing in it.
            guard Self.names.contains(name) else { return name == .biometryCurrentSet ? nil : Key.random() }
            return try KeybagKeys.unwrap(name, of: record, with: wrapping)
        }
        return keys.map {
            RecoveredKeys(context: ItemContext(of: record, $0), passcodeKey: PasscodeKey(privateKey.copy()))
        }
    }

    private static func record(storeID: [UInt8], recoveryWrap: [UInt8], privateWrap: [UInt8]) -> KeybagRecord
    {
        KeybagRecord(
            storeID: storeID,
            cost: .applicationPassword,
            salt: [],
            assurance: .test,
            blob: [],
            passcodeWrap: [],
            recoveryWrap: recoveryWrap,
            keys: [:],
            epoch: 0,
            hasFingers: false,
            passcodePublicKey: [],
            passcodePrivateWrap: [],
            passcodePrivateRecoveryWrap: privateWrap
        )
    }
}

/// An item's parts as they are sealed in its row: a backup holds them as they are.
struct StoredParts {
    let reference: [UInt8]
    let header: [UInt8]
    let wraps: [UInt8]
    /// Nil if the item has no data.
    let data: [UInt8]?
}

extension RecoveredKeys {
    /// Opens the data of an item of a backup; nil if it has none.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` if they are not authentic.
    func open(_ parts: StoredParts, _ control: AccessControl) throws(KeychainError) -> SecretBytes? {
        guard let sealed = parts.data else { return nil }
        do {
            let key = try ItemKeyWrap.open(
                parts.wraps,
                control: control,
                keys: context.keys,
                shown: [ItemKeyWrap.Shown(biometry: true, passcodeKey: passcodeKey)],
                password: nil,
                authenticating: context.binding(of: .key, parts.reference, parts.header)
            ).symmetric
            return try AEAD.opened(
                sealed,
                with: key,
                authenticating: context.binding(of: .data, parts.reference, parts.header)
            )
        } catch {
            throw .exportDamaged
        }
    }
}

extension AEAD {
    /// Opens sealed bytes into memory of their own.
    static func opened(
        _ sealed: [UInt8],
        with key: AEADKey,
        authenticating binding: [UInt8]
    ) throws(NotAuthentic) -> SecretBytes {
        guard sealed.count >= overheadByteCount else { throw NotAuthentic() }
        let count = sealed.count - overheadByteCount
        return try unsafe SecretBytes(octetCount: count) { (octets) throws(NotAuthentic) in
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: octets[..<count])
            do {
                try unsafe sealed.withUnsafeBytes { sealed in
                    try unsafe binding.withUnsafeBytes { binding in
                        try unsafe AEAD.open(sealed, with: key, authenticating: binding, into: room)
                    }
                }
            } catch {
                throw NotAuthentic()
            }
        }
    }
}
