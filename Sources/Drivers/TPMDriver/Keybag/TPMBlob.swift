internal import CBOR
import CTSS2

/// The driver's record of a secret, which the callers store; valid for this chip only.
///
/// CBOR `[version, kind, primary's name, index, private, public, value, label]`, null for a part that the kind does not
/// have. Version 1, of blobs whose index has no label, lacks the last part.
struct TPMBlob: Equatable {
    /// The kind of secret; a blob of one kind is invalid as another.
    enum Kind: UInt64 {
        /// A keybag's device secret.
        case keybag = 1
        /// The secret of an enrolment epoch.
        case epoch = 2
        /// A store's counter.
        case generation = 3
        /// A secret that a restart destroys.
        case escrow = 4
        /// A private key that an app uses.
        case privateKey = 5
        /// That the chip knows a keychain.
        case mark = 6
    }

    var kind: Kind
    /// The name of the storage primary, which identifies the chip.
    var primaryName: [UInt8]
    /// The PIN index or the counter.
    var index: TPM2_HANDLE?
    /// The sealed object.
    var object: WrappedObject?
    /// The counter's value that a secret is sealed to.
    var value: UInt64?
    /// The label that the index carries; nil for one made by an earlier version.
    var label: KeychainLabel?

    /// The longest blob, in bytes; a keybag's has about 500.
    static let longest = 4096

    private static let version: UInt64 = 2

    /// The blob's bytes.
    func encoded() -> [UInt8] {
        var writer = CBORWriter<[UInt8]>([])
        writer.writeArrayHead(count: label == nil ? 7 : 8)
        writer.write(unsigned: label == nil ? 1 : Self.version)
        writer.write(unsigned: kind.rawValue)
        writer.write(bytes: primaryName)
        if let index { writer.write(unsigned: UInt64(index)) } else { writer.writeNull() }
        if let object { writer.write(bytes: object.sensitive) } else { writer.writeNull() }
        if let object { writer.write(bytes: object.area) } else { writer.writeNull() }
        if let value { writer.write(unsigned: value) } else { writer.writeNull() }
        if let label { writer.write(bytes: label.octets) }
        return writer.finish()
    }
}

extension TPMBlob {
    /// Reads a blob of a kind.
    ///
    /// - Throws: ``TPMError/damaged`` for bytes that are no blob of this kind.
    init(_ octets: [UInt8], _ kind: Kind) throws(TPMError) {
        do {
            try self.init(noted: octets)
        } catch {
            throw .damaged
        }
        guard self.kind == kind else { throw .damaged }
    }

    /// Reads a blob of any kind.
    init(noted octets: [UInt8]) throws {
        self = try CBORReader.read(octets, limits: CBORLimits(depth: 1, octets: Self.longest)) {
            try TPMBlob(from: &$0)
        }
    }

    /// The definition of the index; nil for a blob without one.
    var definition: NVIndex? {
        guard let index else { return nil }
        return switch kind {
        case .keybag: .pin(index, label)
        case .mark: label.map { .mark(index, $0) }
        case .epoch, .generation, .escrow, .privateKey: .counter(index, label)
        }
    }

    /// Whether two blobs have the same index in the same chip.
    func isAtPlace(of other: TPMBlob) -> Bool { index == other.index && primaryName == other.primaryName }

    private init(from reader: inout CBORReader) throws {
        let count = try reader.readArrayHead()
        let version = try reader.readUnsigned()
        guard (1...Self.version).contains(version), count == [7, 8][Int(version) - 1],
            let kind = Kind(rawValue: try reader.readUnsigned())
        else { throw TPMError.damaged }
        self.kind = kind
        primaryName = try reader.readBytes()
        if try !reader.readNullIfPresent() {
            guard let handle = TPM2_HANDLE(exactly: try reader.readUnsigned()),
                NVIndex.handles.contains(handle)
            else { throw TPMError.damaged }
            index = handle
        }
        if try reader.readNullIfPresent() {
            try reader.readNull()
        } else {
            object = WrappedObject(sensitive: try reader.readBytes(), area: try reader.readBytes())
        }
        value = try reader.readNullIfPresent() ? nil : try reader.readUnsigned()
        if version > 1 {
            guard let label = KeychainLabel(octets: try reader.readBytes()) else { throw TPMError.damaged }
            self.label = label
        }
    }
}
