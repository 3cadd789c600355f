import CBOR
import Glibc
import KeychainModel
import Primitives
import Testing

@testable import KeychainEngine

/// Keybags as the versions 1 to 3 wrote them: a flat array, no seal, one file.
extension KeybagRecord {
    /// The file's bytes.
    func formerFile(version: UInt64 = 3, deviceKey: Key) -> [UInt8] {
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: [17, 19, 20][Int(version) - 1])
        writer.write(unsigned: version)
        writer.write(bytes: storeID)
        for number in [cost.roundsExponent, cost.blockSize, cost.parallelism] { writer.write(number) }
        writer.write(bytes: salt)
        writer.write(assurance.rawValue)
        for bytes in [blob, passcodeWrap, recoveryWrap] { writer.write(bytes: bytes) }
        writer.writeMapHead(count: keys.count)
        for (name, wrapped) in keys.sorted(by: { $0.key < $1.key }) {
            writer.write(unsigned: UInt64(name))
            writer.write(bytes: wrapped)
        }
        writer.write(unsigned: epoch)
        if let enrolment { writer.write(bytes: enrolment) } else { writer.writeNull() }
        for bytes in [passcodePublicKey, passcodePrivateWrap, passcodePrivateRecoveryWrap] {
            writer.write(bytes: bytes)
        }
        if let hardware {
            writer.writeArrayHead(count: 3)
            writer.write(bytes: hardware.epoch)
            writer.write(bytes: hardware.generation)
            writer.write(hardware.adoptsAt == nil)
        } else {
            writer.writeNull()
        }
        if version > 1 {
            writer.write(hasFingers)
            writer.write(bytes: epochEnds)
        }
        if version > 2 {
            if let enrolmentNames { writer.write(bytes: enrolmentNames) } else { writer.writeNull() }
        }
        let octets = writer.finish()
        var file = CBORWriter([UInt8]())
        file.writeArrayHead(count: 2)
        file.write(bytes: octets)
        file.write(bytes: KeyedDigest.of(octets, key: deviceKey))
        return file.finish()
    }
}

extension KeychainEngine {
    /// Makes the items forget that a keybag had a seal, as in a keychain of a former version.
    func forgetKeybag() throws {
        let context = try items.keys.context()
        try items.withState { state in
            let store = try #require(state.store)
            try store.set(generation: store.itemSet.digest?.generation ?? 0, keybag: 0, context)
        }
    }
}

extension TestKeychain {
    /// The key that authenticates the keybag's file.
    func keybagKey() throws -> Key {
        try #require(try DeviceKeyFile(directory: StoreDirectory(path: path)).key(.keybagCode))
    }

    /// Replaces the keybag by one that a former version would have written; the items must have forgotten the present one.
    func writeFormer(_ record: KeybagRecord, version: UInt64 = 3) throws {
        unsafe unlink(file("keybag.copy"))
        try write(record.formerFile(version: version, deviceKey: keybagKey()), to: "keybag")
    }
}
