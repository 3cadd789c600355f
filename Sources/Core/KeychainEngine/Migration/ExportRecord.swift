internal import CBOR
internal import KeychainModel
internal import SecretMemory

/// The content of an export's record, as CBOR.
///
/// `[0]` starts, so that a wrong code is detected at once; then items,
/// `[1, class, group, attributes, access control, created, modified, data or null]`; `[2, number of items]` ends.
enum ExportRecord: ~Copyable {
    case start
    case item(ItemContent, data: SecretBytes?)
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
        var attributes = CBORWriter([UInt8]())
        var all = item.attributes
        // The mark itself needs this keychain's key; an import makes another one.
        all[.secretMark] = item.mark.map { .data($0.exported) }
        attributes.write(all)
        let map = attributes.finish()
        // Reserve everything: a growing buffer holds its content twice for a moment.
        let room = map.count + item.group.utf8.count + (dataByteCount ?? 0) + 256
        var writer = WireWriter(SecretBuffer(minimumCapacity: room))
        writer.writeArrayHead(count: 8)
        writer.write(unsigned: 1)
        writer.write(text: item.itemClass.rawValue)
        writer.write(text: item.group)
        writer.writeRaw(map)
        writer.write(bytes: item.accessControl.encoded)
        writer.write(item.created)
        writer.write(item.modified)
        if let dataByteCount { writer.writeBytesHead(count: dataByteCount) } else { writer.writeNull() }
        return writer.finish()
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
            guard let itemClass = ItemClass(rawValue: try reader.readText()),
                let group = AccessGroup(try reader.readText())
            else { throw WireError.malformed }
            let attributes = try reader.readAttributes()
            let control = try AccessControl(decoding: try reader.readBytes())
            var item = ItemContent(
                itemClass: itemClass,
                group: group.name,
                attributes: attributes,
                accessControl: control,
                created: try reader.readInteger()
            )
            item.modified = try reader.readInteger()
            if case .data(let octets)? = attributes[.secretMark] { item.mark = SecretMark(exported: octets) }
            var data: SecretBytes?
            if try !reader.readNullIfPresent() {
                try reader.readBytes { (octets: Span<UInt8>) throws in data = SecretBytes(copying: octets) }
            }
            guard data.octetCount <= ItemLimits.longestData else { throw WireError.malformed }
            self = .item(item, data: data)
        case (2, 2):
            guard let items = Int(exactly: try reader.readUnsigned()) else { throw WireError.malformed }
            self = .end(items: items)
        default: throw WireError.malformed
        }
    }
}
