internal import CBOR
internal import KeychainModel
internal import Primitives

/// The encoding of a record's fields: one CBOR array in the order of ``KeybagRecord/encoded()``.
extension KeybagRecord {
    /// The present version.
    ///
    /// Versions 1 to 3 were flat arrays without a seal: 1 lacks ``hasFingers`` and ``epochEnds``, 2 lacks
    /// ``enrolmentNames``. Version 4 adds the seal, ``revision``, ``former``, and two fields of ``HardwareCounters``.
    static let version: UInt64 = 4
    /// The number of fields of each version; those before 4 include the version itself.
    private static let counts = [17, 19, 20, 21]
    /// Numbers that only grow are never near this; a greater one is damage.
    private static let greatestNumber = UInt64(1) << 62
    /// The most hardware objects in ``former``.
    static let mostFormer = 32

    /// The fields of the present version, without the version itself.
    func encoded() -> [UInt8] {
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: Self.counts[Int(Self.version) - 1])
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
        writer.write(optional: enrolment)
        writer.write(bytes: passcodePublicKey)
        writer.write(bytes: passcodePrivateWrap)
        writer.write(bytes: passcodePrivateRecoveryWrap)
        if let hardware {
            writer.writeArrayHead(count: 4)
            writer.write(bytes: hardware.epoch)
            writer.write(bytes: hardware.generation)
            if let value = hardware.adoptsAt { writer.write(unsigned: value) } else { writer.writeNull() }
            writer.write(optional: hardware.mark)
        } else {
            writer.writeNull()
        }
        writer.write(hasFingers)
        writer.write(bytes: epochEnds)
        writer.write(optional: enrolmentNames)
        writer.write(unsigned: revision)
        writer.writeArrayHead(count: 2 * former.count)
        for object in former {
            writer.write(unsigned: object.kind.rawValue)
            writer.write(bytes: object.blob)
        }
        return writer.finish()
    }

    /// Reads the fields of a version; `count` is the number of the array's elements.
    init(reading reader: inout CBORReader, version: UInt64, count: Int) throws {
        guard count == Self.counts[Int(version) - 1] else { throw KeychainError.damaged }
        storeID = try Self.readBytes(&reader, 16...16)
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
        salt = try Self.readBytes(&reader, 16...64)
        guard let assurance = Assurance(rawValue: Int(clamping: try reader.readUnsigned())) else {
            throw KeychainError.damaged
        }
        self.assurance = assurance
        blob = try Self.readBytes(&reader, 0...8192)
        let wrap = (Key.byteCount + AEAD.overheadByteCount)...(Key.byteCount + AEAD.overheadByteCount)
        passcodeWrap = try Self.readBytes(&reader, wrap)
        recoveryWrap = try Self.readBytes(&reader, wrap)
        keys = [:]
        for _ in 0..<min(try reader.readMapHead(), 64) {
            guard let name = UInt8(exactly: try reader.readUnsigned()) else { throw KeychainError.damaged }
            keys[name] = try Self.readBytes(&reader, wrap)
        }
        epoch = try Self.readNumber(&reader)
        enrolment = try Self.readBytesIfPresent(&reader, 32...32)
        passcodePublicKey = try Self.readBytes(&reader, 32...32)
        passcodePrivateWrap = try Self.readBytes(&reader, wrap)
        passcodePrivateRecoveryWrap = try Self.readBytes(&reader, wrap)
        hardware = try HardwareCounters(reading: &reader, version: version)
        // A keybag of version 1 has a key for the set it observed last.
        hasFingers = version == 1 ? true : try reader.readBool()
        if version > 1 { epochEnds = try Self.readBytes(&reader, 0...EpochEnds.longestSealed) }
        if version > 2 { enrolmentNames = try Self.readBytesIfPresent(&reader, 32...32) }
        guard version > 3 else { return }
        revision = try Self.readNumber(&reader)
        guard revision > 0 else { throw KeychainError.damaged }
        let formerCount = try reader.readArrayHead()
        guard formerCount % 2 == 0, (0...2 * Self.mostFormer).contains(formerCount) else {
            throw KeychainError.damaged
        }
        former = try (0..<formerCount / 2).map { _ in
            guard let kind = FormerObject.Kind(rawValue: try reader.readUnsigned()) else {
                throw KeychainError.damaged
            }
            return FormerObject(kind: kind, blob: try Self.readBytes(&reader, 1...8192))
        }
    }

    fileprivate static func readBytes(_ reader: inout CBORReader, _ counts: ClosedRange<Int>) throws
        -> [UInt8]
    {
        let bytes = try reader.readBytes()
        guard counts.contains(bytes.count) else { throw KeychainError.damaged }
        return bytes
    }

    fileprivate static func readBytesIfPresent(
        _ reader: inout CBORReader,
        _ counts: ClosedRange<Int>
    ) throws -> [UInt8]? {
        try reader.readNullIfPresent() ? nil : try readBytes(&reader, counts)
    }

    fileprivate static func readNumber(_ reader: inout CBORReader) throws -> UInt64 {
        let number = try reader.readUnsigned()
        guard number < greatestNumber else { throw KeychainError.damaged }
        return number
    }
}

extension KeybagRecord.HardwareCounters {
    /// Reads counters; nil for null.
    fileprivate init?(reading reader: inout CBORReader, version: UInt64) throws {
        if try reader.readNullIfPresent() { return nil }
        guard try reader.readArrayHead() == (version < 4 ? 3 : 4) else { throw KeychainError.damaged }
        epoch = try KeybagRecord.readBytes(&reader, 1...4096)
        generation = try KeybagRecord.readBytes(&reader, 1...256)
        guard version > 3 else {
            // Before version 4 the flag was not bound to a value of the counter: only the recovery code accepts the items.
            adoptsAt = try reader.readBool() ? nil : .max
            return
        }
        adoptsAt = try reader.readNullIfPresent() ? nil : try reader.readUnsigned()
        mark = try KeybagRecord.readBytesIfPresent(&reader, 1...256)
    }
}

extension CBORWriter {
    /// Writes bytes, or null.
    fileprivate mutating func write(optional bytes: [UInt8]?) {
        if let bytes { write(bytes: bytes) } else { writeNull() }
    }
}
