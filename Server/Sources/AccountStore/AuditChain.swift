internal import Crypto

/// The hash chain of audit records.
public enum AuditChain {
    /// The previous hash of the first record.
    public static let start = [UInt8](repeating: 0, count: 32)

    /// A fault of a chain.
    public enum Fault: Sendable, Equatable {
        /// This record was changed.
        case changed(sequence: Int64)
        /// The record after this one is missing, or belongs to another history.
        case broken(after: Int64)
    }

    /// Checks consecutive records of one chain; nil: they are unchanged.
    ///
    /// The first record may be any of the chain: its previous hash is taken as given.
    public static func fault(in records: [AuditRecord]) -> Fault? {
        var before: AuditRecord?
        for record in records {
            if let fault = fault(in: record, after: before) { return fault }
            before = record
        }
        return nil
    }

    /// Checks a record and its link to the one before it; nil: both are right.
    ///
    /// - Parameters:
    ///   - record: the record.
    ///   - before: the one read before it, which was checked; nil: the previous hash of `record` is taken as given,
    ///     unless it is the first of its chain.
    /// - Returns: the fault.
    static func fault(in record: AuditRecord, after before: AuditRecord?) -> Fault? {
        if let before {
            guard record.sequence == before.sequence + 1, record.previousHash == before.hash,
                record.chain == before.chain
            else { return .broken(after: before.sequence) }
        } else if record.sequence == 1, record.previousHash != start {
            return .changed(sequence: 1)
        }
        let hash = hash(
            chain: record.chain,
            sequence: record.sequence,
            time: record.time,
            event: record.event,
            previousHash: record.previousHash
        )
        return hash == record.hash ? nil : .changed(sequence: record.sequence)
    }

    /// The hash of a record: SHA-256 over its fields in order, each preceded by its length (8 bytes, big-endian).
    package static func hash(
        chain: [UInt8],
        sequence: Int64,
        time: Timestamp,
        event: AuditEvent,
        previousHash: [UInt8]
    ) -> [UInt8] {
        var input: [UInt8] = []
        input.reserveCapacity(512)
        func append(_ bytes: some Collection<UInt8>) {
            input.append(bigEndian: Int64(bytes.count))
            input.append(contentsOf: bytes)
        }
        append(chain)
        input.append(bigEndian: sequence)
        input.append(bigEndian: time.milliseconds)
        append(event.name.rawValue.utf8)
        append(event.session?.bytes ?? [])
        append(event.credential?.bytes ?? [])
        append(event.address.utf8)
        append(event.trace.utf8)
        append(event.reason.utf8)
        append(event.details.utf8)
        append(previousHash)
        return Array(SHA256.hash(data: input))
    }
}

extension [UInt8] {
    /// Appends the 8 bytes of a number that is hashed, the highest first.
    mutating func append(bigEndian number: Int64) {
        for shift in stride(from: 56, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: number >> Int64(shift)))
        }
    }
}
