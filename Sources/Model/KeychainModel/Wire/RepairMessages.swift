public import CBOR

/// Checks for items that differ from their last stored state, and makes the intact ones current: `[prompt, accepts]`.
public struct RepairRequest: WireBody, Sendable, Equatable {
    /// The passcode is needed in either case: the names of all programs' items are shown.
    public let prompt: PromptFields
    /// Whether to repair the items; otherwise they are only checked.
    public let accepts: Bool

    /// Describes a repair.
    public init(prompt: PromptFields, accepts: Bool) {
        self.prompt = prompt
        self.accepts = accepts
    }

    /// Writes the request.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        prompt.encode(to: &writer)
        writer.write(accepts)
    }

    /// Reads a request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        prompt = try PromptFields(from: &reader)
        accepts = try reader.readBool()
    }
}

/// The findings and result of a repair.
///
/// `[[[finding, group, name], ...], unnamed, missing, kept, log damaged, log saved, record damaged, file damaged,
/// name of the former file]`.
public struct RepairReply: WireBody, Sendable, Equatable {
    /// The report.
    public let repair: StoreRepair

    /// Wraps a report.
    public init(_ repair: StoreRepair) { self.repair = repair }

    /// Writes the report.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 9)
        writer.writeArrayHead(count: repair.items.count)
        for item in repair.items {
            writer.writeArrayHead(count: 3)
            writer.write(unsigned: UInt64(item.finding.rawValue))
            writer.write(text: item.group)
            writer.write(optionalText: item.name)
        }
        writer.write(Int64(repair.unnamed))
        writer.write(Int64(repair.missing))
        writer.write(Int64(repair.kept))
        writer.write(repair.isLogDamaged)
        writer.write(repair.isLogSaved)
        writer.write(repair.isRecordDamaged)
        writer.write(repair.isFileDamaged)
        writer.write(optionalText: repair.keptAside)
    }

    /// Reads a report.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(9)
        var repair = StoreRepair()
        let count = try reader.readArrayHead()
        guard count <= StoreRepair.mostItems else { throw WireError.malformed }
        for _ in 0..<count {
            try reader.readFields(3)
            guard let finding = UInt8(exactly: try reader.readUnsigned()).flatMap(StoreRepair.Finding.init)
            else { throw WireError.malformed }
            let group = try reader.readText()
            let name = try reader.readOptional { try $0.readText() }
            repair.items.append(StoreRepair.Item(finding, group: group, name: name))
        }
        repair.unnamed = Int(try reader.readInteger())
        repair.missing = Int(try reader.readInteger())
        repair.kept = Int(try reader.readInteger())
        repair.isLogDamaged = try reader.readBool()
        repair.isLogSaved = try reader.readBool()
        repair.isRecordDamaged = try reader.readBool()
        repair.isFileDamaged = try reader.readBool()
        repair.keptAside = try reader.readOptional { try $0.readText() }
        self.repair = repair
    }
}
