internal import CBOR
internal import KeychainModel
internal import Primitives

/// A keybag as it was read from a file.
///
/// The file is CBOR `[content, code]`, and the content `[version, fields, seal]`. The code is an HMAC-SHA256 over the
/// content under a key derived from the device key, a file beside it: it only tells damage before a passcode is tried. The
/// seal is an HMAC-SHA256 over the fields under a key derived from the keybag key, which only the passcode, the recovery
/// code or the escrow gives: nothing in the record is believed before it was compared (``isSealed(by:)``), except what is
/// needed to unwrap that key.
struct StoredKeybag: Equatable {
    /// The longest file, in bytes.
    static let longest = 64 * 1024

    /// The file's bytes.
    let bytes: [UInt8]
    let record: KeybagRecord
    /// Whether the code is valid: the file is not damaged.
    let isIntact: Bool
    private let fields: [UInt8]
    private let seal: [UInt8]?

    /// Whether a version before 4 wrote it, which had no seal.
    var isUnsealed: Bool { seal == nil }

    /// Whether the seal is valid for a key (``KeybagKeys/sealKey(keybagKey:storeID:)``).
    func isSealed(by key: Key) -> Bool {
        guard let seal else { return false }
        return KeyedDigest.isValid(seal, of: fields, key: key)
    }

    /// Reads a file; without a device key it does not count as intact.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` if the file is not a keybag, and `errSecNotAvailable` if a newer
    ///   version of this program wrote it.
    init(_ file: [UInt8], deviceKey: Key?) throws(KeychainError) {
        bytes = file
        do {
            let (content, code) = try CBORReader.read(file) { reader in
                guard try reader.readArrayHead() == 2 else { throw KeychainError.damaged }
                return (try reader.readBytes(), try reader.readBytes())
            }
            isIntact = deviceKey.map { KeyedDigest.isValid(code, of: content, key: $0) } ?? false
            (record, fields, seal) = try CBORReader.read(content) { reader in
                let count = try reader.readArrayHead()
                let version = try reader.readUnsigned()
                guard (1...KeybagRecord.version).contains(version) else { throw KeychainError.newerFormat }
                guard version > 3 else {
                    let record = try KeybagRecord(reading: &reader, version: version, count: count)
                    return (record, [], nil)
                }
                guard count == 3 else { throw KeychainError.damaged }
                let fields = try reader.readBytes()
                let record = try CBORReader.read(fields) { reader in
                    try KeybagRecord(reading: &reader, version: version, count: try reader.readArrayHead())
                }
                return (record, fields, try reader.readBytes())
            }
        } catch let error as KeychainError {
            throw error
        } catch {
            throw .damaged
        }
    }

    /// The bytes of a file with a record.
    static func file(of record: KeybagRecord, sealKey: Key, deviceKey: Key) -> [UInt8] {
        let fields = record.encoded()
        var content = CBORWriter([UInt8]())
        content.writeArrayHead(count: 3)
        content.write(unsigned: KeybagRecord.version)
        content.write(bytes: fields)
        content.write(bytes: KeyedDigest.of(fields, key: sealKey))
        let octets = content.finish()
        var file = CBORWriter([UInt8]())
        file.writeArrayHead(count: 2)
        file.write(bytes: octets)
        file.write(bytes: KeyedDigest.of(octets, key: deviceKey))
        return file.finish()
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
