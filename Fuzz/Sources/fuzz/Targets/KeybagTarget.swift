import CBOR
import KeychainModel
import Primitives
import SecretMemory

@testable import KeychainEngine

/// The keybag's file, and the recovery code that the user types.
enum KeybagTarget: FuzzTarget {
    static let name = "keybag"

    private static let key = Key(SecretBytes(copying: octets(32)))

    static func run(_ input: Span<UInt8>) {
        runRecord(input.array)
        runFile(input.array)
        runRecoveryCode(input)
    }

    private static func runRecord(_ octets: [UInt8]) {
        guard let record = record(octets) else { return }
        let wrapping = KeybagKeys.Wrapping(keybagKey: key, epoch: key)
        let ring = Result { () throws(KeychainError) in
            try KeybagKeys.unwrapAll(of: record, with: wrapping)
        }
        if case .success = ring { fatalError("keys that nobody wrapped") }
        // Sealed and with its code, the engine must read it back; a record of a former version in the present one.
        var written = record
        written.revision = max(record.revision, 1)
        let file = StoredKeybag.file(of: written, sealKey: key, deviceKey: key)
        guard let again = try? StoredKeybag(file, deviceKey: key) else { fatalError("a file reads back") }
        require(again.isIntact && again.isSealed(by: key) && again.record == written, "a file reads back")
        require(written.encoded() == again.record.encoded(), "a record has one encoding")
    }

    /// The record of the present version's fields, or of a former version's array; nil if it is damaged.
    private static func record(_ octets: [UInt8]) -> KeybagRecord? {
        do {
            return try CBORReader.read(octets) { reader in
                let count = try reader.readArrayHead()
                return try KeybagRecord(reading: &reader, version: KeybagRecord.version, count: count)
            }
        } catch {
            return try? CBORReader.read(octets) { reader in
                let count = try reader.readArrayHead()
                let version = try reader.readUnsigned()
                guard (1..<KeybagRecord.version).contains(version) else { throw KeychainError.damaged }
                return try KeybagRecord(reading: &reader, version: version, count: count)
            }
        }
    }

    private static func runFile(_ octets: [UInt8]) {
        do throws(KeychainError) {
            let stored = try StoredKeybag(octets, deviceKey: key)
            guard stored.isIntact, stored.isSealed(by: key) else { return }
            let file = StoredKeybag.file(of: stored.record, sealKey: key, deviceKey: key)
            require(file == octets, "a file has one encoding")
        } catch {
            require(error.status == .decode || error.status == .notAvailable, "a damaged file is damaged")
        }
    }

    private static func runRecoveryCode(_ input: Span<UInt8>) {
        guard let code = RecoveryCode.parse(SecretBytes(copying: input)) else { return }
        code.withOctets { require($0.count == 16, "a recovery code is 16 bytes") }
    }

    static func seeds() -> [[UInt8]] {
        var records: [KeybagRecord] = []
        for assurance in Assurance.allCases {
            for (exponent, blockSize, parallelism) in [(17, 8, 1), (1, 1, 1), (22, 1, 16), (10, 8, 3)] {
                guard let record = record(assurance, exponent, blockSize, parallelism) else { continue }
                records.append(record)
            }
        }
        let whole = records.map { $0.encoded() }
        let codes = [
            "0000-0000-0000-0000-0000-0000-0000", "0123-4567-89AB-CDEF-GHJK-MNPQ-RSTV", "", "O0IL 1",
            "0000000000000000000000000000", "00000000000000000000000000000", "\u{E4}",
        ]
        return whole + records.prefix(6).map { StoredKeybag.file(of: $0, sealKey: key, deviceKey: key) }
            + damaged(whole[0], most: 20)
            + codes.map { Array($0.utf8) } + [validCode()]
    }

    /// Sixteen zero bytes and their 12-bit check, which is searched for.
    private static func validCode() -> [UInt8] {
        let symbols = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
        let zeros = [UInt8](repeating: symbols[0], count: RecoveryCode.symbolCount - 3)
        for check in 0..<4096 {
            let end = [symbols[check >> 10], symbols[check >> 5 & 31], symbols[check & 31]]
            if RecoveryCode.parse(SecretBytes(copying: zeros + end)) != nil { return zeros + end }
        }
        return zeros
    }

    private static func record(
        _ assurance: Assurance,
        _ exponent: Int,
        _ blockSize: Int,
        _ parallelism: Int
    ) -> KeybagRecord? {
        let cost = PasscodeDerivation.Cost(
            roundsExponent: exponent,
            blockSize: blockSize,
            parallelism: parallelism
        )
        guard let cost else { return nil }
        let wrap = octets(Key.byteCount + AEAD.overheadByteCount)
        let names = exponent == 17 ? KeybagKeyName.allCases : []
        var record = KeybagRecord(
            storeID: octets(16),
            cost: cost,
            salt: octets(32),
            assurance: assurance,
            blob: octets(exponent),
            passcodeWrap: wrap,
            recoveryWrap: wrap,
            keys: Dictionary(uniqueKeysWithValues: names.map { ($0.rawValue, wrap) }),
            epoch: UInt64(exponent),
            enrolment: exponent == 10 ? nil : octets(32),
            hasFingers: exponent == 17,
            passcodePublicKey: octets(32),
            passcodePrivateWrap: wrap,
            passcodePrivateRecoveryWrap: wrap,
            revision: UInt64(exponent)
        )
        if assurance != .softwareUser {
            record.hardware = .init(
                epoch: octets(90),
                generation: octets(60),
                adoptsAt: exponent == 17 ? 7 : nil,
                mark: exponent == 10 ? octets(60) : nil
            )
        }
        return record
    }
}
