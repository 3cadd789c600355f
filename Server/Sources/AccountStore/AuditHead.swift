internal import Crypto

/// A hash over all records up to a position, for keeping outside of the store: it shows later that none of them was removed,
/// also at the end of a chain.
///
/// Each head covers the records after the one before, and that head, so that one value vouches for all heads before it.
public struct AuditHead: Sendable, Equatable {
    /// The maximum number of records that a head covers.
    public static let mostRecords = 1000
    /// The previous value of the first head.
    public static let start = [UInt8](repeating: 0, count: 32)

    /// The position after which the records begin.
    public let after: Int64
    /// The position of the last record.
    public let position: Int64
    /// The number of records.
    public let count: Int
    /// The time of the oldest record.
    public let oldest: Timestamp
    /// SHA-256 over position and hash of each record, in the order of positions.
    public let digest: [UInt8]
    /// The value of the head before.
    public let previous: [UInt8]

    /// Creates a head from its parts.
    public init(
        after: Int64,
        position: Int64,
        count: Int,
        oldest: Timestamp,
        digest: [UInt8],
        previous: [UInt8]
    ) {
        self.after = after
        self.position = position
        self.count = count
        self.oldest = oldest
        self.digest = digest
        self.previous = previous
    }

    /// The head of records in the order of positions that follow an earlier one; nil: there are none.
    public init?(of records: [AuditRecord], following head: AuditHead?) {
        guard let last = records.last, let oldest = records.map(\.time).min() else { return nil }
        self.init(
            after: head?.position ?? 0,
            position: last.position,
            count: records.count,
            oldest: oldest,
            digest: Self.digest(of: records),
            previous: head?.value ?? Self.start
        )
    }

    /// SHA-256 over all parts: 8 bytes for each number, big-endian, and 32 for each hash.
    public var value: [UInt8] {
        var input: [UInt8] = []
        for number in [after, position, Int64(count), oldest.milliseconds] { input.append(bigEndian: number) }
        return Array(SHA256.hash(data: input + digest + previous))
    }

    /// Whether the head covers exactly these records, in the order of positions.
    public func covers(_ records: [AuditRecord]) -> Bool {
        records.count == count && records.last?.position == position && Self.digest(of: records) == digest
    }

    private static func digest(of records: [AuditRecord]) -> [UInt8] {
        var input: [UInt8] = []
        for record in records {
            input.append(bigEndian: record.position)
            input += record.hash
        }
        return Array(SHA256.hash(data: input))
    }
}
