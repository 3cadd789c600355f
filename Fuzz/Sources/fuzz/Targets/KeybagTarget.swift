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
        do throws(KeychainError) {
            let record = try KeybagRecord(decoding: octets)
            // A record of a former version is rewritten in the current one, which the head of its array shows.
            let encoded = record.encoded()
            require(encoded == octets || encoded.first != octets.first, "a record has one encoding")
            require(try KeybagRecord(decoding: encoded) == record, "a record reads back")
            // Sealed with its code, the engine must read it back.
            let (again, isAuthentic) = try KeybagRecord.read(record.file(authenticatedBy: key), key: key)
            require(isAuthentic && again == record, "a file reads back")
            let wrapping = KeybagKeys.Wrapping(keybagKey: key, epoch: key)
            let ring = Result { () throws(KeychainError) in
                try KeybagKeys.unwrapAll(of: record, with: wrapping)
            }
            if case .success = ring { fatalError("keys that nobody wrapped") }
        } catch {
            require(error.status == .decode || error.status == .notAvailable, "a damaged record is damaged")
        }
    }

    private static func runFile(_ octets: [UInt8]) {
        guard let (record, isAuthentic) = try? KeybagRecord.read(octets, key: key) else { return }
        let file = record.file(authenticatedBy: key)
        // The array of record and code, the record's head, and the head of the record's own array.
        guard file.count == octets.count else { return }
        require(!isAuthentic || file == octets, "a file has one encoding")
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
        return whole + records.prefix(6).map { $0.file(authenticatedBy: key) } + damaged(whole[0], most: 20)
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
            passcodePrivateRecoveryWrap: wrap
        )
        if assurance != .softwareUser {
            record.hardware = .init(epoch: octets(90), generation: octets(60), isAdopted: exponent == 17)
        }
        return record
    }
}
