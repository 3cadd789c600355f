internal import CBOR
internal import KeychainModel
internal import Primitives

/// The content of the keybag file: wrapped keys and the parameters to unwrap them; no secret in clear.
///
/// The file is CBOR `[record, code]`: the record's bytes and an HMAC-SHA256 over them with a key derived from the device
/// key, so that damage is distinguished from a wrong passcode before a passcode is tried.
struct KeybagRecord: Equatable {
    /// Version 1 lacks ``hasFingers`` and ``epochEnds``, version 2 lacks ``enrolmentNames``.
    static let version: UInt64 = 3
    static let longestFile = 16 * 1024
    static let saltByteCount = 32
    static let storeIDByteCount = 16

    /// The permanent identifier of the store; part of all its associated data.
    var storeID: [UInt8]
    var cost: PasscodeDerivation.Cost
    var salt: [UInt8]
    /// The strength of the seal when the passcode was set.
    var assurance: Assurance
    /// The sealer's blob.
    var blob: [UInt8]
    /// The keybag key, wrapped under passcode and device secret.
    var passcodeWrap: [UInt8]
    /// The keybag key, wrapped under the recovery code.
    var recoveryWrap: [UInt8]
    /// Keys wrapped under the keybag key, by name.
    var keys: [UInt8: [UInt8]]
    /// Incremented whenever the enrolled set changes.
    var epoch: UInt64
    /// The keyed digest of the enrolled set; nil before the first observation.
    var enrolment: [UInt8]?
    /// Whether that set has fingers; without fingers, or before the first observation, there is no key for the current
    /// set.
    var hasFingers: Bool
    /// The public key for items constrained to the passcode.
    var passcodePublicKey: [UInt8]
    /// The private key, wrapped under the passcode alone.
    var passcodePrivateWrap: [UInt8]
    /// The private key, wrapped under the recovery code.
    var passcodePrivateRecoveryWrap: [UInt8]
    /// The hardware counters of this keybag; nil without hardware.
    var hardware: HardwareCounters?
    /// The end times of former epochs, sealed (``EpochEnds``); empty if there are none.
    var epochEnds: [UInt8] = []
    /// The keyed digest of the enrolled set without its templates.
    ///
    /// Equal to ``enrolment`` if the templates were not read. Nil before the first observation, and in a keybag of
    /// version 1 or 2 until the set is observed again.
    var enrolmentNames: [UInt8]?

    /// The hardware counters of a keybag, as identified by the driver.
    struct HardwareCounters: Equatable {
        /// Identifies the secret of the present enrolment epoch.
        var epoch: [UInt8]
        /// Identifies the counter of the store's generations.
        var generation: [UInt8]
        /// Whether the store was brought in step with that counter since its creation.
        var isAdopted = true
    }

    /// The associated data of a wrapped key.
    func context(_ name: String, epoch: UInt64 = 0) -> [UInt8] {
        Self.context(name, storeID: storeID, epoch: epoch)
    }

    /// The associated data of the wrapped key `name`.
    func context(of name: KeybagKeyName) -> [UInt8] {
        context("key \(name.rawValue)", epoch: name == .biometryCurrentSet ? epoch : 0)
    }

    static func context(_ name: String, storeID: [UInt8], epoch: UInt64 = 0) -> [UInt8] {
        Array("touchstone 1 keybag \(name) \(epoch) ".utf8) + storeID
    }
}

extension KeybagRecord {
    /// The file's bytes.
    func file(authenticatedBy key: Key) -> [UInt8] {
        let record = encoded()
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: 2)
        writer.write(bytes: record)
        writer.write(bytes: KeyedDigest.of(record, key: key))
        return writer.finish()
    }

    /// Reads a file.
    ///
    /// - Returns: the record, and whether its code is valid for `key`.
    /// - Throws: ``KeychainError`` with `errSecDecode` if the file is not a keybag record, and `errSecNotAvailable` if a
    ///   newer version of this program wrote it.
    static func read(_ file: [UInt8], key: Key?) throws(KeychainError) -> (KeybagRecord, isAuthentic: Bool) {
        let parts: (record: [UInt8], code: [UInt8])
        do {
            parts = try CBORReader.read(file) { reader in
                guard try reader.readArrayHead() == 2 else { throw KeychainError.damaged }
                return (try reader.readBytes(), try reader.readBytes())
            }
        } catch {
            throw .damaged
        }
        let isAuthentic = key.map { KeyedDigest.isValid(parts.code, of: parts.record, key: $0) } ?? false
        return (try KeybagRecord(decoding: parts.record), isAuthentic)
    }

    func encoded() -> [UInt8] {
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: 20)
        writer.write(unsigned: Self.version)
        writer.write(bytes: storeID)
        writer.write(cost.roundsExponent)
        writer.write(cost.blockSize)
        writer.write(cost.parallelism)
        writer.write(bytes: salt)
        writer.write(assurance.rawValue)
        writer.write(bytes: blob)
        writer.write(bytes: passcodeWrap)
        writer.write(bytes: recoveryWrap)
        writer.writeMapHead(count: keys.count)
        for (name, wrapped) in keys.sorted(by: { $0.key < $1.key }) {
            writer.write(unsigned: UInt64(name))
            writer.write(bytes: wrapped)
        }
        writer.write(unsigned: epoch)
        if let enrolment { writer.write(bytes: enrolment) } else { writer.writeNull() }
        writer.write(bytes: passcodePublicKey)
        writer.write(bytes: passcodePrivateWrap)
        writer.write(bytes: passcodePrivateRecoveryWrap)
        if let hardware {
            writer.writeArrayHead(count: 3)
            writer.write(bytes: hardware.epoch)
            writer.write(bytes: hardware.generation)
            writer.write(hardware.isAdopted)
        } else {
            writer.writeNull()
        }
        writer.write(hasFingers)
        writer.write(bytes: epochEnds)
        if let enrolmentNames { writer.write(bytes: enrolmentNames) } else { writer.writeNull() }
        return writer.finish()
    }

    init(decoding octets: [UInt8]) throws(KeychainError) {
        do {
            self = try CBORReader.read(octets) { reader in
                let count = try reader.readArrayHead()
                let version = try reader.readUnsigned()
                guard (1...Self.version).contains(version) else { throw KeychainError.newerFormat }
                guard count == [17, 19, 20][Int(version) - 1] else { throw KeychainError.damaged }
                return try KeybagRecord(reading: &reader, version: version)
            }
        } catch let error as KeychainError {
            throw error
        } catch {
            throw .damaged
        }
    }

    private init(reading reader: inout CBORReader, version: UInt64) throws {
        storeID = try Self.readOctets(&reader, 16...16)
        let exponent = Int(clamping: try reader.readUnsigned())
        let blockSize = Int(clamping: try reader.readUnsigned())
        let parallelism = Int(clamping: try reader.readUnsigned())
        guard
            let cost = PasscodeDerivation.Cost(
                roundsExponent: exponent,
                blockSize: blockSize,
                parallelism: parallelism
            )
        else { throw KeychainError.damaged }
        self.cost = cost
        salt = try Self.readOctets(&reader, 16...64)
        guard let assurance = Assurance(rawValue: Int(clamping: try reader.readUnsigned())) else {
            throw KeychainError.damaged
        }
        self.assurance = assurance
        blob = try Self.readOctets(&reader, 0...8192)
        let wrap = (Key.byteCount + AEAD.overheadByteCount)...(Key.byteCount + AEAD.overheadByteCount)
        passcodeWrap = try Self.readOctets(&reader, wrap)
        recoveryWrap = try Self.readOctets(&reader, wrap)
        keys = [:]
        for _ in 0..<min(try reader.readMapHead(), 64) {
            guard let name = UInt8(exactly: try reader.readUnsigned()) else { throw KeychainError.damaged }
            keys[name] = try Self.readOctets(&reader, wrap)
        }
        epoch = try reader.readUnsigned()
        if try reader.readNullIfPresent() {
            enrolment = nil
        } else {
            enrolment = try Self.readOctets(&reader, 32...32)
        }
        passcodePublicKey = try Self.readOctets(&reader, 32...32)
        passcodePrivateWrap = try Self.readOctets(&reader, wrap)
        passcodePrivateRecoveryWrap = try Self.readOctets(&reader, wrap)
        if try reader.readNullIfPresent() {
            hardware = nil
        } else {
            guard try reader.readArrayHead() == 3 else { throw KeychainError.damaged }
            hardware = HardwareCounters(
                epoch: try Self.readOctets(&reader, 1...4096),
                generation: try Self.readOctets(&reader, 1...256),
                isAdopted: try reader.readBool()
            )
        }
        // A keybag of version 1 has a key for the set it observed last.
        hasFingers = version == 1 ? true : try reader.readBool()
        if version > 1 { epochEnds = try Self.readOctets(&reader, 0...EpochEnds.longestSealed) }
        if version > 2, !(try reader.readNullIfPresent()) {
            enrolmentNames = try Self.readOctets(&reader, 32...32)
        }
    }

    private static func readOctets(_ reader: inout CBORReader, _ counts: ClosedRange<Int>) throws -> [UInt8] {
        let octets = try reader.readBytes()
        guard counts.contains(octets.count) else { throw KeychainError.damaged }
        return octets
    }
}

extension KeychainError {
    /// A newer version of this program wrote the file, which stays unchanged.
    static var newerFormat: KeychainError {
        KeychainError(
            .notAvailable,
            cause: DriverCause(.newerFormat),
            remedy: .check
        )
    }
}
