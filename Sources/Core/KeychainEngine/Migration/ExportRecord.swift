internal import CBOR
internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// The content of an export's record, as CBOR.
///
/// `[0]` starts, so that a wrong code is detected at once; then items,
/// `[1, class, group, attributes, access control, created, modified, data or null]`; `[2, number of items]` ends. A backup
/// has items `[3, …, reference, header, wraps of the key, sealed data or null]` instead (``StoredParts``).
enum ExportRecord: ~Copyable {
    case start
    case item(ItemContent, data: SecretBytes?)
    case stored(ItemContent, StoredParts)
    case end(items: Int)

    static func encodedStart() -> SecretBuffer {
        var writer = WireWriter(SecretBuffer(minimumCapacity: 16))
        writer.writeArrayHead(count: 1)
        writer.write(unsigned: 0)
        return writer.finish()
    }

    static func encodedEnd(items: Int) -> SecretBuffer {
        var writer = WireWriter(SecretBuffer(minimumCapacity: 16))
        writer.writeArrayHead(count: 2)
        writer.write(unsigned: 2)
        writer.write(items)
        return writer.finish()
    }

    /// An item's record up to its data; `dataByteCount` bytes of data, if any, must be appended.
    static func encoded(_ item: ItemContent, dataByteCount: Int?) -> SecretBuffer {
        var writer = begun(item, kind: 1, fields: 8, room: dataByteCount ?? 0)
        if let dataByteCount { writer.writeBytesHead(count: dataByteCount) } else { writer.writeNull() }
        return writer.finish()
    }

    /// A backup's record of an item.
    static func encoded(_ item: ItemContent, _ parts: StoredParts) -> SecretBuffer {
        let room = parts.header.count + parts.wraps.count + (parts.data?.count ?? 0)
        var writer = begun(item, kind: 3, fields: 11, room: room)
        writer.write(bytes: parts.reference)
        writer.write(bytes: parts.header)
        writer.write(bytes: parts.wraps)
        writer.write(optionalBytes: parts.data)
        return writer.finish()
    }

    private static func begun(_ item: ItemContent, kind: UInt64, fields: Int, room: Int) -> WireWriter {
        var attributes = CBORWriter([UInt8]())
        var all = item.attributes
        // The mark itself needs this keychain's key; an import makes another one.
        all[.secretMark] = item.mark.map { .data($0.exported) }
        attributes.write(all)
        let map = attributes.finish()
        // Reserve everything: a growing buffer holds its content twice for a moment.
        let capacity = map.count + item.group.utf8.count + room + 256
        var writer = WireWriter(SecretBuffer(minimumCapacity: capacity))
        writer.writeArrayHead(count: fields)
        writer.write(unsigned: kind)
        writer.write(text: item.itemClass.rawValue)
        writer.write(text: item.group)
        writer.writeRaw(map)
        writer.write(bytes: item.accessControl.encoded)
        writer.write(item.created)
        writer.write(item.modified)
        return writer
    }

    /// Reads a record.
    init(decoding record: borrowing SecretBytes) throws(KeychainError) {
        var limits = CBORLimits(depth: 4)
        limits.octets = ExportSeal.longestRecord
        do {
            self = try record.withOctets { octets in
                try CBORReader.read(octets, limits: limits) { try ExportRecord(reading: &$0) }
            }
        } catch {
            throw .exportDamaged
        }
    }

    private init(reading reader: inout CBORReader) throws {
        let count = try reader.readArrayHead()
        switch (try reader.readUnsigned(), count) {
        case (0, 1): self = .start
        case (1, 8):
            let item = try ItemContent(ofExport: &reader)
            var data: SecretBytes?
            if try !reader.readNullIfPresent() {
                try reader.readBytes { (octets: Span<UInt8>) throws in data = SecretBytes(copying: octets) }
            }
            guard data.octetCount <= ItemLimits.longestData else { throw WireError.malformed }
            self = .item(item, data: data)
        case (3, 11):
            let item = try ItemContent(ofExport: &reader)
            let parts = StoredParts(
                reference: try reader.readBytes(),
                header: try reader.readBytes(),
                wraps: try reader.readBytes(),
                data: try reader.readOptional { try $0.readBytes() }
            )
            guard (parts.data?.count ?? 0) <= ItemLimits.longestData + AEAD.overheadByteCount else {
                throw WireError.malformed
            }
            self = .stored(item, parts)
        case (2, 2):
            guard let items = Int(exactly: try reader.readUnsigned()) else { throw WireError.malformed }
            self = .end(items: items)
        default: throw WireError.malformed
        }
    }
}

extension ItemContent {
    /// Reads what an item's record says of it besides its data.
    fileprivate init(ofExport reader: inout CBORReader) throws {
        guard let itemClass = ItemClass(rawValue: try reader.readText()),
            let group = AccessGroup(try reader.readText())
        else { throw WireError.malformed }
        let attributes = try reader.readAttributes()
        let control = try AccessControl(decoding: try reader.readBytes())
        self.init(
            itemClass: itemClass,
            group: group.name,
            attributes: attributes,
            accessControl: control,
            created: try reader.readInteger()
        )
        modified = try reader.readInteger()
        if case .data(let octets)? = attributes[.secretMark] { mark = SecretMark(exported: octets) }
    }
}
