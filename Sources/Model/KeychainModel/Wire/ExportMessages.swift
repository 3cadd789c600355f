public import CBOR

/// Reads an export that was sent, or merges it: `[prompt, null or [conflicts, [name, ...]]]`.
public struct ExportRequest: WireBody, Sendable, Equatable {
    /// How to prompt for the export's recovery code, and for a merge for the keychain's passcode.
    public let prompt: PromptFields
    /// How to merge it; nil only reads it.
    public let merge: ExportMerge?

    /// Describes a request.
    public init(prompt: PromptFields, merge: ExportMerge? = nil) {
        self.prompt = prompt
        self.merge = merge
    }

    /// Writes the request.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        prompt.encode(to: &writer)
        guard let merge else { return writer.writeNull() }
        writer.writeArrayHead(count: 2)
        writer.write(unsigned: UInt64(merge.conflicts.rawValue))
        writer.write(texts: merge.names)
    }

    /// Reads a request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        prompt = try PromptFields(from: &reader)
        merge = try reader.readOptional { reader in
            try reader.readFields(2)
            let number = UInt8(exactly: try reader.readUnsigned())
            guard let conflicts = number.flatMap(ExportMerge.Conflicts.init) else {
                throw KeychainError(.param)
            }
            let count = try reader.readArrayHead()
            guard count <= ExportMerge.mostNames else { throw KeychainError(.dataTooLarge) }
            let names = try (0..<count).map { _ in try reader.readText() }
            guard names.allSatisfy({ $0.utf8.count <= ExportMerge.longestName }) else {
                throw KeychainError(.dataTooLarge)
            }
            return ExportMerge(names: names, conflicts: conflicts)
        }
    }
}

/// Items of an export: `[[[outcome, class, group, name, access control, new name or null], ...], progress or null]`.
///
/// The last reply has no items.
public struct ExportItems: WireBody, Sendable, Equatable {
    /// The most items in a reply.
    public static let most = 256
    /// The items.
    public let items: [ExportedItem]
    /// How far the export was read, in bytes.
    public let progress: ProgressBody?

    /// Wraps items, at most ``most``.
    public init(_ items: [ExportedItem] = [], progress: ProgressBody? = nil) {
        self.items = items
        self.progress = progress
    }

    /// Writes the items.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.writeArrayHead(count: items.count)
        for item in items {
            writer.writeArrayHead(count: 6)
            writer.write(unsigned: UInt64(item.outcome.rawValue))
            writer.write(text: item.itemClass.rawValue)
            writer.write(text: item.group)
            writer.write(text: item.name)
            writer.write(bytes: item.accessControl.encoded)
            writer.write(optionalText: item.newName)
        }
        if let progress { progress.encode(to: &writer) } else { writer.writeNull() }
    }

    /// Reads items.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        let count = try reader.readArrayHead()
        guard count <= Self.most else { throw WireError.malformed }
        items = try (0..<count).map { _ in try reader.readExportedItem() }
        progress = try reader.readOptional { try ProgressBody(from: &$0) }
    }
}

extension CBORReader {
    fileprivate mutating func readExportedItem() throws -> ExportedItem {
        try readFields(6)
        guard let outcome = UInt8(exactly: try readUnsigned()).flatMap(ExportedItem.Outcome.init),
            let itemClass = ItemClass(rawValue: try readText())
        else { throw WireError.malformed }
        return ExportedItem(
            outcome,
            itemClass: itemClass,
            group: try readText(),
            name: try readText(),
            accessControl: try AccessControl(decoding: try readBytes()),
            newName: try readOptional { try $0.readText() }
        )
    }
}
