public import CBOR

/// The groups that have items, or no fingers: an array of `[group, last change, fingers, number of items of each class…]`.
public struct AppsReply: WireBody, Sendable, Equatable {
    /// The most groups in a reply.
    public static let most = 512
    /// The groups, by name.
    public let owners: [ItemOwner]

    /// Wraps the groups, at most ``most``.
    public init(_ owners: [ItemOwner]) { self.owners = Array(owners.prefix(Self.most)) }

    /// Writes the groups.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: owners.count)
        for owner in owners {
            writer.writeArrayHead(count: 3 + ItemClass.allCases.count)
            writer.write(text: owner.group.name)
            writer.write(owner.lastChange)
            writer.write(owner.allowsFingers)
            for itemClass in ItemClass.allCases {
                writer.write(unsigned: UInt64(owner.counts[itemClass] ?? 0))
            }
        }
    }

    /// Reads the groups.
    public init(from reader: inout CBORReader) throws {
        let count = try reader.readArrayHead()
        guard count <= Self.most else { throw WireError.malformed }
        owners = try (0..<count).map { _ in
            try reader.readFields(3 + ItemClass.allCases.count)
            guard let group = AccessGroup(try reader.readText()) else { throw WireError.malformed }
            var owner = ItemOwner(group: group, lastChange: try reader.readInteger())
            owner.allowsFingers = try reader.readBool()
            for itemClass in ItemClass.allCases {
                let number = try reader.readUnsigned()
                if number > 0 { owner.counts[itemClass] = Int(clamping: number) }
            }
            return owner
        }
    }
}

/// Moves all items of a group to another: `[from, to, dry run, prompt]`.
public struct MoveItems: WireBody, Sendable, Equatable {
    /// The group that has the items.
    public let from: AccessGroup
    /// The group that receives them.
    public let to: AccessGroup
    /// Whether only to report what would be moved, without a prompt.
    public let isDryRun: Bool
    /// How to prompt.
    public let prompt: PromptFields

    /// Describes the move.
    public init(from: AccessGroup, to: AccessGroup, isDryRun: Bool, prompt: PromptFields) {
        self.from = from
        self.to = to
        self.isDryRun = isDryRun
        self.prompt = prompt
    }

    /// Writes the request.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 4)
        writer.write(text: from.name)
        writer.write(text: to.name)
        writer.write(isDryRun)
        prompt.encode(to: &writer)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(4)
        guard let from = AccessGroup(try reader.readText()), let to = AccessGroup(try reader.readText())
        else {
            throw KeychainError(.param)
        }
        self.from = from
        self.to = to
        isDryRun = try reader.readBool()
        prompt = try PromptFields(from: &reader)
    }
}

/// Lets a program use fingers or not: `[group, allowed, prompt]`.
public struct SwitchFingers: WireBody, Sendable, Equatable {
    /// The program's group.
    public let group: AccessGroup
    /// Whether it may use fingers from now on.
    public let isAllowed: Bool
    /// How to prompt.
    public let prompt: PromptFields

    /// Describes the change.
    public init(group: AccessGroup, isAllowed: Bool, prompt: PromptFields) {
        self.group = group
        self.isAllowed = isAllowed
        self.prompt = prompt
    }

    /// Writes the request.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 3)
        writer.write(text: group.name)
        writer.write(isAllowed)
        prompt.encode(to: &writer)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(3)
        guard let group = AccessGroup(try reader.readText()) else { throw KeychainError(.param) }
        self.group = group
        isAllowed = try reader.readBool()
        prompt = try PromptFields(from: &reader)
    }
}

/// The outcome of a move: `[items, names, clashes]`.
public struct MoveReply: WireBody, Sendable, Equatable {
    /// The most names of either kind in a reply.
    public static let mostNames = 100
    /// How many items were moved, or would be.
    public let count: Int
    /// The names of the items, at most ``mostNames``.
    public let names: [String]
    /// The names of items that the other group has already; if there are any, nothing was moved.
    public let clashes: [String]

    /// Describes the outcome.
    public init(count: Int, names: [String], clashes: [String]) {
        self.count = count
        self.names = Array(names.prefix(Self.mostNames))
        self.clashes = Array(clashes.prefix(Self.mostNames))
    }

    /// Writes the reply.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 3)
        writer.write(unsigned: UInt64(count))
        writer.write(texts: names)
        writer.write(texts: clashes)
    }

    /// Reads the reply.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(3)
        count = Int(clamping: try reader.readUnsigned())
        names = try reader.readTexts()
        clashes = try reader.readTexts()
    }
}
