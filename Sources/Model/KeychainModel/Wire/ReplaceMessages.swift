public import CBOR
public import SecretMemory

/// Stores an item in place of others, without reading them:
/// `[query, class, attributes, access control, data, mark, keeps same, context, prompt]`.
public struct ReplaceItem: WireBody, ~Copyable, Sendable {
    /// Which items are replaced; without a group, those of the new item's group.
    public let query: ItemQuery
    /// The class.
    public let itemClass: ItemClass
    /// All attributes of the new item, with the access group if the app named one.
    public let attributes: ItemAttributes
    /// The access control.
    public let accessControl: AccessControl
    /// The secret.
    public let data: SecretBytes?
    /// The part of the secret by which the item is compared later without opening it (``EraseItems``); nil for none.
    public let mark: SecretBytes?
    /// Whether nothing is written if the only match has the same attributes, access control, secret and mark.
    public let keepsSame: Bool
    /// The context whose application password to use.
    public let context: UInt64?
    /// How to prompt if the keybag is locked.
    public let prompt: PromptFields

    /// Describes the item and what it replaces.
    public init(
        query: ItemQuery,
        itemClass: ItemClass,
        attributes: ItemAttributes,
        accessControl: AccessControl,
        data: consuming SecretBytes?,
        mark: consuming SecretBytes? = nil,
        keepsSame: Bool = false,
        context: UInt64? = nil,
        prompt: PromptFields
    ) {
        self.query = query
        self.itemClass = itemClass
        self.attributes = attributes
        self.accessControl = accessControl
        self.data = data
        self.mark = mark
        self.keepsSame = keepsSame
        self.context = context
        self.prompt = prompt
    }

    /// Writes the request.
    public borrowing func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 9)
        writer.write(query)
        writer.write(text: itemClass.rawValue)
        writer.write(attributes)
        writer.write(bytes: accessControl.encoded)
        writer.write(optionalSecret: data)
        writer.write(optionalSecret: mark)
        writer.write(keepsSame)
        writer.write(optionalUnsigned: context)
        prompt.encode(to: &writer)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(9)
        let query = try reader.readQuery()
        let itemClass = try reader.readItemClass()
        let attributes = try reader.readAttributes()
        let accessControl = try AccessControl(decoding: try reader.readBytes())
        let data = try reader.readOptionalSecret()
        let mark = try reader.readOptionalSecret()
        let keepsSame = try reader.readBool()
        let context = try reader.readOptional { try $0.readUnsigned() }
        self.init(
            query: query,
            itemClass: itemClass,
            attributes: attributes,
            accessControl: accessControl,
            data: data,
            mark: mark,
            keepsSame: keepsSame,
            context: context,
            prompt: try PromptFields(from: &reader)
        )
    }
}

/// What a replacement did.
public enum Replacement: UInt64, WireBody, Sendable, CaseIterable {
    /// Nothing matched: the item is new.
    case added = 0
    /// The item has replaced what matched.
    case replaced = 1
    /// The only match is the same: nothing was written.
    case unchanged = 2

    /// Writes the number.
    public func encode(to writer: inout WireWriter) { writer.write(unsigned: rawValue) }

    /// Reads the number.
    public init(from reader: inout CBORReader) throws {
        guard let outcome = Self(rawValue: try reader.readUnsigned()) else { throw WireError.malformed }
        self = outcome
    }
}

/// Deletes the items whose mark or secret is the given one, without opening them: `[query, secret, prompt]`.
///
/// Only items that were stored with a mark (``ReplaceItem/mark``) can be compared.
public struct EraseItems: WireBody, ~Copyable, Sendable {
    /// Which items.
    public let query: ItemQuery
    /// What their mark or secret is compared with.
    public let secret: SecretBytes
    /// How to prompt if the keybag is locked.
    public let prompt: PromptFields

    /// Describes the deletion.
    public init(query: ItemQuery, secret: consuming SecretBytes, prompt: PromptFields) {
        self.query = query
        self.secret = secret
        self.prompt = prompt
    }

    /// Writes the request.
    public borrowing func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 3)
        writer.write(query)
        secret.withOctets { writer.write(bytes: $0) }
        prompt.encode(to: &writer)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(3)
        let query = try reader.readQuery()
        guard let secret = try reader.readOptionalSecret() else { throw WireError.malformed }
        self.init(query: query, secret: secret, prompt: try PromptFields(from: &reader))
    }
}

/// What an erasure did: `[deleted, different, unknown]`.
public struct Erasure: WireBody, Sendable, Equatable {
    /// The items that had the secret, and were deleted.
    public var deleted: Int
    /// The items that have another secret, and stay.
    public var different: Int
    /// The items that cannot be compared without opening them, and stay.
    public var unknown: Int

    /// Counts items.
    public init(deleted: Int = 0, different: Int = 0, unknown: Int = 0) {
        self.deleted = deleted
        self.different = different
        self.unknown = unknown
    }

    /// Writes the numbers.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 3)
        for count in [deleted, different, unknown] { writer.write(unsigned: UInt64(max(0, count))) }
    }

    /// Reads the numbers.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(3)
        deleted = Int(clamping: try reader.readUnsigned())
        different = Int(clamping: try reader.readUnsigned())
        unknown = Int(clamping: try reader.readUnsigned())
    }
}
