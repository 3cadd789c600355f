public import CBOR
public import SecretMemory

/// Limits of an item.
public enum ItemLimits {
    /// The longest secret, in bytes: a frame minus room for the other fields.
    public static let longestData = Frame.longest - (1 << 17)
    /// The longest text or bytes of an attribute, in bytes.
    public static let longestAttribute = 1 << 14
    /// The most attributes of an item that a program names, and of a query.
    public static let mostAttributes = 64
    /// The most bytes of an item's attributes and data together: what fits a frame beside the other fields.
    public static let longestItem = Frame.longest - (1 << 12)
    /// The most attributes that a message or a stored item may have.
    ///
    /// The store adds eight of its own, and earlier versions let an update name as many again.
    static let mostReadAttributes = 2 * mostAttributes + 8
    /// The most references in a query.
    public static let mostReferences = 4096
    /// The most items of a keychain: 8 sections of the engine's record.
    ///
    /// The first look-up without a match reads them all, in 0.1 s.
    public static let mostItems = 8 * 65_536
}

/// Adds an item: `[class, attributes, access control, data, returns, context, prompt]`.
public struct AddItem: WireBody, ~Copyable, Sendable {
    /// The class.
    public let itemClass: ItemClass
    /// The attributes, with the access group if the app named one.
    public let attributes: ItemAttributes
    /// The access control.
    public let accessControl: AccessControl
    /// The secret.
    public let data: SecretBytes?
    /// The parts to return.
    public let returns: ItemQuery.Returns
    /// The context whose application password to use.
    public let context: UInt64?
    /// How to prompt if the keybag is locked.
    public let prompt: PromptFields

    /// Describes the item.
    public init(
        itemClass: ItemClass,
        attributes: ItemAttributes,
        accessControl: AccessControl,
        data: consuming SecretBytes?,
        returns: ItemQuery.Returns = [],
        context: UInt64? = nil,
        prompt: PromptFields
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.accessControl = accessControl
        self.data = data
        self.returns = returns
        self.context = context
        self.prompt = prompt
    }

    /// The item for the vault, with the request's secret itself and not a copy.
    package consuming func item() -> NewItem {
        var attributes = attributes
        attributes[.accessGroup] = nil
        return NewItem(
            itemClass: itemClass,
            attributes: attributes,
            accessControl: accessControl,
            data: data,
            returns: returns
        )
    }

    /// Writes the request.
    public borrowing func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 7)
        writer.write(text: itemClass.rawValue)
        writer.write(attributes)
        writer.write(bytes: accessControl.encoded)
        writer.write(optionalSecret: data)
        writer.write(unsigned: UInt64(returns.rawValue))
        writer.write(optionalUnsigned: context)
        prompt.encode(to: &writer)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(7)
        let itemClass = try reader.readItemClass()
        let attributes = try reader.readAttributes()
        let accessControl = try AccessControl(decoding: try reader.readBytes())
        let data = try reader.readOptionalSecret()
        let returns = try reader.readReturns()
        let context = try reader.readOptional { try $0.readUnsigned() }
        self.init(
            itemClass: itemClass,
            attributes: attributes,
            accessControl: accessControl,
            data: data,
            returns: returns,
            context: context,
            prompt: try PromptFields(from: &reader)
        )
    }
}

/// Looks items up: `[query, context, prompt]`.
public struct CopyItems: WireBody, Sendable {
    /// Which items, how many, and which parts of each.
    public let query: ItemQuery
    /// The context to use; nil for a fresh one.
    public let context: UInt64?
    /// How to prompt.
    public let prompt: PromptFields

    /// Describes the look-up.
    public init(query: ItemQuery, context: UInt64? = nil, prompt: PromptFields) {
        self.query = query
        self.context = context
        self.prompt = prompt
    }

    /// Writes the request.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 3)
        writer.write(query)
        writer.write(optionalUnsigned: context)
        prompt.encode(to: &writer)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(3)
        query = try reader.readQuery()
        context = try reader.readOptional { try $0.readUnsigned() }
        prompt = try PromptFields(from: &reader)
    }
}

/// Changes items: `[query, attributes, access control, data, former, context, prompt]`.
public struct UpdateItems: WireBody, ~Copyable, Sendable {
    /// Which items.
    public let query: ItemQuery
    /// Attributes to set.
    public let attributes: ItemAttributes
    /// A new access control; nil leaves the old one.
    public let accessControl: AccessControl?
    /// A new secret; nil leaves the old one.
    public let data: SecretBytes?
    /// With these attributes in place of its own, each item is kept as another one, as it was before the change; nil for not.
    public let former: ItemAttributes?
    /// The context to use; nil for a fresh one.
    public let context: UInt64?
    /// How to prompt.
    public let prompt: PromptFields

    /// Describes the change.
    public init(
        query: ItemQuery,
        attributes: ItemAttributes,
        accessControl: AccessControl?,
        data: consuming SecretBytes?,
        former: ItemAttributes? = nil,
        context: UInt64? = nil,
        prompt: PromptFields
    ) {
        self.query = query
        self.attributes = attributes
        self.accessControl = accessControl
        self.data = data
        self.former = former
        self.context = context
        self.prompt = prompt
    }

    /// Writes the request.
    public borrowing func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 7)
        writer.write(query)
        writer.write(attributes)
        writer.write(optionalBytes: accessControl?.encoded)
        writer.write(optionalSecret: data)
        if let former { writer.write(former) } else { writer.writeNull() }
        writer.write(optionalUnsigned: context)
        prompt.encode(to: &writer)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(7)
        let query = try reader.readQuery()
        let attributes = try reader.readAttributes()
        let accessControl = try reader.readOptional { try AccessControl(decoding: try $0.readBytes()) }
        let data = try reader.readOptionalSecret()
        let former = try reader.readOptional { try $0.readAttributes() }
        let context = try reader.readOptional { try $0.readUnsigned() }
        self.init(
            query: query,
            attributes: attributes,
            accessControl: accessControl,
            data: data,
            former: former,
            context: context,
            prompt: try PromptFields(from: &reader)
        )
    }
}

/// Deletes items: `[query, prompt]`; the prompt is for a keybag that was not yet unlocked.
public struct DeleteItems: WireBody, Sendable {
    /// Which items.
    public let query: ItemQuery
    /// How to prompt if the keybag is locked.
    public let prompt: PromptFields

    /// Describes the deletion.
    public init(query: ItemQuery, prompt: PromptFields) {
        self.query = query
        self.prompt = prompt
    }

    /// Writes the request.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(query)
        prompt.encode(to: &writer)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        query = try reader.readQuery()
        prompt = try PromptFields(from: &reader)
    }
}

/// The result of a deletion: the number of items, or `[number, false]` if hardware has yet to count the deletion.
public struct DeletedItems: WireBody, Sendable, Equatable {
    /// The number of items.
    public let count: Int
    /// Whether no older copy of the store can bring them back.
    ///
    /// False while the hardware that counts does not answer; the daemon tries again by itself.
    public let isCounted: Bool

    /// Reports a deletion.
    public init(count: Int, isCounted: Bool) {
        self.count = count
        self.isCounted = isCounted
    }

    /// Writes the result.
    public func encode(to writer: inout WireWriter) {
        if !isCounted { writer.writeArrayHead(count: 2) }
        writer.write(Int64(count))
        if !isCounted { writer.write(false) }
    }

    /// Reads the result.
    public init(from reader: inout CBORReader) throws {
        let isPlain = try reader.peekType() != .array
        if !isPlain { try reader.readFields(2) }
        count = Int(try reader.readInteger())
        isCounted = isPlain ? true : try reader.readBool()
    }
}

/// The body of a result: an array of ``EncodedItems``' maps.
public enum ItemsReply {
    /// A complete reply message with a page of items, built in the page's own memory.
    public static func message(head: ReplyHead, items: consuming EncodedItems) -> SecretBuffer {
        var writer = CBORWriter([UInt8]())
        head.encode(to: &writer)
        writer.writeArrayHead(count: items.count)
        let start = writer.finish()
        var message = items.octets
        unsafe start.withUnsafeBytes { unsafe message.prepend(contentsOf: $0) }
        return message
    }
}
