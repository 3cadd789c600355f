internal import AccountStore
internal import CPostgreSQL
internal import SQLAccountStore

/// Values in PostgreSQL's binary form.
struct BinaryValues {
    private var storage: [UInt8] = []
    /// The offset of each value; nil: NULL.
    private var offsets: [Int?] = []
    private var lengths: [CInt] = []

    init(_ values: [SQLValue]) {
        for value in values {
            let offset = storage.count
            offsets.append(value == .null ? nil : offset)
            switch value {
            case .null: break
            case .integer(let number): withUnsafeBytes(of: number.bigEndian) { storage += $0 }
            // A PostgreSQL text cannot contain U+0000.
            case .text(let text):
                if text.utf8.contains(0) {
                    storage += Array(text.replacing("\0", with: "\u{FFFD}").utf8)
                } else {
                    storage += text.utf8
                }
            case .bytes(let bytes): storage += bytes
            }
            lengths.append(CInt(storage.count - offset))
        }
        // Makes the buffer non-empty, so that a value without bytes has an address.
        storage.append(0)
    }

    func withPointers<R>(
        _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<CInt>, UnsafePointer<CInt>) -> R
    ) -> R {
        storage.withUnsafeBytes { bytes in
            let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress
            let pointers = offsets.map { offset in offset.flatMap { start?.advanced(by: $0) } }
            return body(pointers, lengths, [CInt](repeating: 1, count: offsets.count))
        }
    }

    /// A value of a result; its type must be one that our tables use.
    static func value(_ result: OpaquePointer, _ row: CInt, _ column: CInt) throws(StoreError) -> SQLValue {
        guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else {
            return .null
        }
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
        // Type OIDs of pg_type.dat.
        switch PQftype(result, column) {
        case 17: return .bytes(Array(bytes))
        case 25: return .text(String(decoding: bytes, as: UTF8.self))
        case 20, 23:
            return .integer(
                bytes.reduce(bytes.first.map { $0 >= 0x80 } ?? false ? -1 : 0) { $0 << 8 | Int64($1) }
            )
        case let type: throw StoreError(.damaged, cause: "a column of type \(type)")
        }
    }
}
