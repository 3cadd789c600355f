internal import CBOR
internal import KeychainModel
internal import SecretMemory

/// Encodes items for the wire until a page is full.
struct ItemPage: ~Copyable {
    /// The most bytes of a page, exceeded only by a single large item: less than a socket buffers, so that the next page
    /// is made while the client reads this one.
    static let mostOctets = 60 * 1024
    static let mostItems = 1024

    private var octets: SecretBuffer
    private(set) var count = 0
    private(set) var lastRow: Int64 = 0

    init(expectsMany: Bool) {
        octets = SecretBuffer(minimumCapacity: expectsMany ? Self.mostOctets + 4 * 1024 : 512)
    }

    var isFull: Bool { count >= Self.mostItems || octets.count >= Self.mostOctets }

    /// Begins an item with the requested fields except its data, which must follow if `hasData`.
    ///
    /// The attributes are already encoded; `invalidated` is when the item was invalidated, for an item returned without
    /// data.
    mutating func begin(
        _ returns: ItemQuery.Returns,
        row: Int64,
        reference: UnsafeRawBufferPointer,
        attributes: UnsafeRawBufferPointer,
        hasData: Bool,
        invalidated: Int64? = nil
    ) {
        let hasReference = !returns.isDisjoint(with: [.persistentRef, .ref])
        let hasAttributes = !returns.isDisjoint(with: [.attributes, .ref])
        var parts: UInt8 = (hasReference ? 1 : 0) + (hasAttributes ? 1 : 0) + (hasData ? 1 : 0)
        if invalidated != nil { parts += 1 }
        octets.append(0xA0 | parts)
        count += 1
        lastRow = row
        if hasReference {
            octets.append(UInt8(ItemField.reference))
            appendHead(reference.count)
            unsafe octets.append(contentsOf: reference)
        }
        if hasAttributes {
            octets.append(UInt8(ItemField.attributes))
            unsafe octets.append(contentsOf: attributes)
        }
        if let invalidated {
            octets.append(UInt8(ItemField.invalidated))
            var writer = CBORWriter([UInt8]())
            writer.write(invalidated)
            let time = writer.finish()
            unsafe time.withUnsafeBytes { unsafe octets.append(contentsOf: $0) }
        }
    }

    mutating func append(data: UnsafeRawBufferPointer) {
        reserve(data.count)
        octets.append(UInt8(ItemField.data))
        appendHead(data.count)
        unsafe octets.append(contentsOf: data)
    }

    /// Appends data of `count` bytes that `fill` writes in place.
    mutating func appendData<E: Error>(
        count: Int,
        filledBy fill: (UnsafeMutableRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        reserve(count)
        octets.append(UInt8(ItemField.data))
        appendHead(count)
        _ = try unsafe octets.append(upTo: count) { (room) throws(E) in
            try unsafe fill(room)
            return count
        }
    }

    /// Makes room for data with its head, and for the head of the reply: so that a long item is in memory once.
    private mutating func reserve(_ count: Int) { octets.reserve(octets.count + count + Self.headRoom) }

    private static let headRoom = 64

    /// Returns the page and leaves this one empty.
    mutating func finish(next: ItemCursor?) -> EncodedItems {
        var finished = SecretBuffer()
        swap(&finished, &octets)
        return EncodedItems(octets: finished, count: count, next: next)
    }

    /// The head of a byte string in its shortest form (RFC 8949, section 4.2.1).
    private mutating func appendHead(_ count: Int) {
        switch count {
        case ..<24: octets.append(0x40 | UInt8(count))
        case ..<0x100:
            octets.append(0x58)
            octets.append(UInt8(count))
        case ..<0x1_0000:
            octets.append(0x59)
            for shift in [8, 0] { octets.append(UInt8(truncatingIfNeeded: count >> shift)) }
        default:
            octets.append(0x5A)
            for shift in [24, 16, 8, 0] { octets.append(UInt8(truncatingIfNeeded: count >> shift)) }
        }
    }
}
