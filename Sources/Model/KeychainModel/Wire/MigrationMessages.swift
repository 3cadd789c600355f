public import CBOR

/// The limits of an export, in parts and in total.
public enum MigrationLimits {
    /// The bytes of a part: with it a frame stays well below ``Frame/longest``.
    public static let partOctets = 1 << 18
    /// The most bytes of an export, 1 GiB.
    public static let mostOctets = 1 << 30
    /// The most items of an export.
    public static let mostItems = 1 << 20
}

/// A part of an export on its way to the client: `[total, bytes, report, progress]`.
///
/// Only the last part has a report, and no bytes. While the items are being sealed, parts contain only
/// ``ProgressBody``.
public struct ExportPart: WireBody, Sendable, Equatable {
    /// The number of bytes of all parts together.
    public let total: Int
    /// The next bytes.
    public let octets: [UInt8]
    /// The export's report; nil before the last part.
    public let report: ExportReport?
    /// The progress of sealing; nil once it is done.
    public let progress: ProgressBody?

    /// A part with the next bytes.
    public init(total: Int, octets: [UInt8]) {
        self.total = total
        self.octets = octets
        report = nil
        progress = nil
    }

    /// A part with the progress of sealing.
    public init(progress: ProgressBody) {
        total = 0
        octets = []
        report = nil
        self.progress = progress
    }

    /// The last part of an export.
    public init(total: Int, report: ExportReport) {
        self.total = total
        self.octets = []
        self.report = report
        progress = nil
    }

    /// Writes the part.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 4)
        writer.write(unsigned: UInt64(total))
        writer.write(bytes: octets)
        if let report { writer.write(report) } else { writer.writeNull() }
        if let progress { progress.encode(to: &writer) } else { writer.writeNull() }
    }

    /// Reads a part.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(4)
        let total = try reader.readUnsigned()
        guard total <= UInt64(MigrationLimits.mostOctets) else { throw WireError.malformed }
        self.total = Int(total)
        octets = try reader.readBytes()
        report = try reader.readOptional { try $0.readExportReport() }
        progress = try reader.readOptional { try ProgressBody(from: &$0) }
        guard progress == nil || octets.isEmpty && report == nil else { throw WireError.malformed }
    }
}

/// A part of an export on its way to the daemon: `[offset, bytes]`; offset 0 starts over.
public struct ImportPart: WireBody, Sendable, Equatable {
    /// The number of bytes in the parts before.
    public let offset: Int
    /// The next bytes, at most ``MigrationLimits/partOctets``.
    public let octets: [UInt8]

    /// A part with the next bytes.
    public init(offset: Int, octets: [UInt8]) {
        self.offset = offset
        self.octets = octets
    }

    /// Writes the part.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(unsigned: UInt64(offset))
        writer.write(bytes: octets)
    }

    /// Reads a part.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        let offset = try reader.readUnsigned()
        guard offset <= UInt64(MigrationLimits.mostOctets) else { throw KeychainError(.dataTooLarge) }
        self.offset = Int(offset)
        octets = try reader.readBytes()
        guard octets.count <= MigrationLimits.partOctets else { throw KeychainError(.dataTooLarge) }
    }
}

extension WireWriter {
    /// Writes `[items, {reason: count}, [[reason, group, name], ...], whether the set is authentic]`.
    fileprivate mutating func write(_ report: ExportReport) {
        writeArrayHead(count: 4)
        write(report.items)
        let reasons = report.leftOut.keys.sorted { $0.rawValue < $1.rawValue }
        writeMapHead(count: reasons.count)
        for reason in reasons {
            write(unsigned: UInt64(reason.rawValue))
            write(report.leftOut[reason] ?? 0)
        }
        writeArrayHead(count: report.names.count)
        for item in report.names {
            writeArrayHead(count: 3)
            write(unsigned: UInt64(item.reason.rawValue))
            write(text: item.group)
            write(text: item.name)
        }
        write(report.isSetAuthentic)
    }
}

extension CBORReader {
    fileprivate mutating func readExportReport() throws -> ExportReport {
        try readFields(4)
        var report = ExportReport(items: Int(clamping: try readUnsigned()))
        for _ in 0..<(try readMapHead()) {
            let reason = try readExportReason()
            report.leftOut[reason] = Int(clamping: try readUnsigned())
        }
        let count = try readArrayHead()
        guard count <= ExportReport.mostNames else { throw WireError.malformed }
        for _ in 0..<count {
            try readFields(3)
            let reason = try readExportReason()
            report.names.append(
                ExportReport.LeftOut(reason: reason, group: try readText(), name: try readText())
            )
        }
        report.isSetAuthentic = try readBool()
        return report
    }

    private mutating func readExportReason() throws -> ExportReport.Reason {
        guard let reason = UInt8(exactly: try readUnsigned()).flatMap(ExportReport.Reason.init) else {
            throw WireError.malformed
        }
        return reason
    }
}
