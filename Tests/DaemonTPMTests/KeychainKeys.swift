import Foundation
import KeychainModel
import SecretMemory
import TPMDriver
import TouchstoneTesting

@testable import KeychainEngine
@testable import Primitives

/// A keychain's keys, derived by an attacker who has the passcode and copies of its files.
struct KeychainKeys {
    /// Keys that a single operation needs, and that must not be in memory after it.
    private(set) var ofPasscode: [String: [UInt8]] = [:]
    /// Keys that a lock wipes.
    private(set) var whileUnlocked: [String: [UInt8]] = [:]
    /// Keys that stay in locked memory after a lock.
    private(set) var afterLock: [String: [UInt8]] = [:]
    /// Values derived from keys while items are used, which must be in locked memory only.
    private(set) var prepared: [String: [UInt8]] = [:]

    /// Derives the keys; with a keybag on a TPM, which has one client at a time, the daemon must be stopped.
    static func derived(
        _ files: DataCopy,
        passcode: String = PrivateKeychain.passcode,
        tcti: String? = nil
    ) async throws -> KeychainKeys {
        let temporary = try TemporaryDirectory()
        let path = temporary.appending("copy")
        try files.write(to: path)
        let directory = try StoreDirectory(path: path)
        let record = try record(in: directory)
        var keys = KeychainKeys()
        let stretched = await PasscodeDerivation.derive(
            Key(SecretBytes(copying: Array(passcode.utf8))),
            salt: record.salt,
            cost: record.cost
        )
        keys.ofPasscode["passcode"] = Array(passcode.utf8)
        keys.ofPasscode["device key"] = try deviceKey(of: files)
        keys.ofPasscode["stretched key"] = octets(stretched)
        let authorization = KeybagKeys.sealAuthorization(stretched: stretched, storeID: record.storeID)
        keys.ofPasscode["seal authorization"] = octets(authorization)
        let tpm = tcti.map { TPM(configuration: $0) }
        let sealer = DeviceSealer(
            file: FileKeySealer(directory: directory),
            hardware: tpm.map { TPMKeySealer($0) }
        )
        let device = Key(try await sealer.unseal(record.blob, authorization: authorization.copy()))
        keys.ofPasscode["device secret"] = octets(device)
        let wrapping = KeybagKeys.passcodeKey(stretched: stretched, device: device, storeID: record.storeID)
        keys.ofPasscode["passcode key"] = octets(wrapping)
        keys.ofPasscode["constraint key"] = octets(
            KeybagKeys.constraintKey(passcodeKey: wrapping, storeID: record.storeID)
        )
        let byPasscode = KeybagKeys.byPasscode
        guard
            let keybagKey = KeybagKeys.unwrap(record.passcodeWrap, byPasscode, in: record, with: wrapping)
        else { throw Surprise("the passcode does not open the keybag") }
        var epoch: Key?
        if let tpm, let names = record.hardware {
            epoch = Key(try await TPMHardwareGuard(tpm).openEpoch(names.epoch))
        }
        let ring = try KeybagKeys.unwrapAll(
            of: record,
            with: KeybagKeys.Wrapping(keybagKey: keybagKey, epoch: epoch)
        )
        keys.whileUnlocked["keybag key"] = octets(keybagKey)
        for name in KeybagKeyName.allCases {
            guard let key = ring[name] else { throw Surprise("no key \(name)") }
            if name.survivesLock {
                keys.afterLock["\(name)"] = octets(key)
            } else {
                keys.whileUnlocked["\(name)"] = octets(key)
            }
            keys.add(halvesOf: key, name)
        }
        await tpm?.close()
        return keys
    }

    /// The prepared state of a keyed digest, which is equivalent to the key: the inner and outer hash states after the padded
    /// key.
    private mutating func add(halvesOf key: Key, _ name: KeybagKeyName) {
        guard name == .itemSet || name == .lookup else { return }
        let states = KeyedDigest(key).states.withOctets { octets in octets.indices.map { octets[$0] } }
        for (half, place) in [("inner", 0), ("outer", states.count / 2)] {
            prepared["\(name), \(half)"] = Array(states[place...].prefix(KeyedDigest.byteCount))
        }
    }

    /// The 32-byte key that authenticates the files, which is read for each use.
    private static func deviceKey(of files: DataCopy) throws -> [UInt8] {
        let temporary = try TemporaryDirectory()
        let path = temporary.appending("copy")
        try files.write(to: path)
        let directory = try StoreDirectory(path: path)
        guard let key = try AtomicFile(.deviceKey, in: directory, longest: Key.byteCount).read() else {
            throw Surprise("no device key")
        }
        return key
    }

    /// The same without the passcode's keys.
    var withoutPasscode: KeychainKeys {
        var keys = self
        keys.ofPasscode = [:]
        return keys
    }

    /// The key stretched from the passcode alone, without the TPM.
    static func stretched(
        _ files: DataCopy,
        passcode: String = PrivateKeychain.passcode
    ) async throws -> KeychainKeys {
        let record = try record(of: files)
        var keys = KeychainKeys()
        let stretched = await PasscodeDerivation.derive(
            Key(SecretBytes(copying: Array(passcode.utf8))),
            salt: record.salt,
            cost: record.cost
        )
        keys.ofPasscode["passcode"] = Array(passcode.utf8)
        keys.ofPasscode["device key"] = try deviceKey(of: files)
        keys.ofPasscode["stretched key"] = octets(stretched)
        keys.ofPasscode["seal authorization"] = octets(
            KeybagKeys.sealAuthorization(stretched: stretched, storeID: record.storeID)
        )
        return keys
    }

    /// Uses up all tries at the TPM itself, bypassing the daemon.
    static func spendTries(_ files: DataCopy, tcti: String) async throws {
        let temporary = try TemporaryDirectory()
        let path = temporary.appending("copy")
        try files.write(to: path)
        let directory = try StoreDirectory(path: path)
        let record = try record(in: directory)
        let tpm = TPM(configuration: tcti)
        let sealer = DeviceSealer(file: FileKeySealer(directory: directory), hardware: TPMKeySealer(tpm))
        for guess in 1...11 {
            let wrong = Key(SecretBytes(copying: [UInt8](repeating: UInt8(guess), count: 32)))
            do {
                let secret = try await sealer.unseal(record.blob, authorization: wrong.copy())
                throw Surprise("a wrong guess gave \(secret.count) bytes")
            } catch let error as KeychainError {
                if guess == 11, error.cause != .exhausted {
                    throw Surprise("the tries are not spent: \(error)")
                }
            }
        }
        await tpm.close()
    }

    private static func record(of files: DataCopy) throws -> KeybagRecord {
        let temporary = try TemporaryDirectory()
        let path = temporary.appending("copy")
        try files.write(to: path)
        return try record(in: try StoreDirectory(path: path))
    }

    private static func record(in directory: StoreDirectory) throws -> KeybagRecord {
        guard let intact = try KeybagFile(in: directory).read().intact else {
            throw Surprise("the keybag is not authentic")
        }
        return intact.record
    }

    /// The recovery code as written and as typed, its value, and the keys derived from it; with the header of an export, its key,
    /// too.
    static func recovery(
        _ text: String,
        _ files: DataCopy,
        export: [UInt8]? = nil
    ) throws -> [String: [UInt8]] {
        let record = try record(of: files)
        let code = text.trimmingCharacters(in: .whitespacesAndNewlines)
        var secrets = ["the code's text": Array(code.utf8)]
        secrets["the code's symbols"] = Array(code.utf8.filter { $0 != UInt8(ascii: "-") })
        guard let code = RecoveryCode.parse(SecretBytes(copying: Array(code.utf8))) else {
            throw Surprise("no recovery code")
        }
        let keys = KeybagKeys.recoveryKeys(code: code, storeID: record.storeID)
        secrets["recovery code"] = octets(code)
        secrets["recovery key"] = octets(keys.keybag)
        secrets["recovery constraint key"] = octets(keys.constraint)
        if let export {
            let salt = Array(export.prefix(ExportSeal.headByteCount).suffix(32))
            secrets["export's key"] = octets(KeyDerivation.derive(.export, from: [code], salt: salt))
        }
        return secrets
    }

    private static func octets(_ key: Key) -> [UInt8] {
        key.withOctets { octets in octets.indices.map { octets[$0] } }
    }
}
