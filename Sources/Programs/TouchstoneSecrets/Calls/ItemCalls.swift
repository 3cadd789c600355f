import KeychainClient
import KeychainModel
import MessageBus
import SecretMemory
import SecretServiceModel

/// The methods of `org.freedesktop.Secret.Item`.
extension SecretsClient {
    func answerItem(_ call: Call, _ item: FoundItem) throws(BusFault) -> [BusValue] {
        switch (call.member, call.arguments.first, call.arguments.count) {
        case ("Delete", nil, 0):
            try delete(item)
            return [.objectPath("/")]
        case ("GetSecret", .objectPath(let path)?, 1): return [try secret(of: item, path)]
        case ("SetSecret", let secret?, 1):
            guard secret.signature == "(oayays)" else { break }
            try set(secret, of: item)
            return []
        case ("Delete", _, _), ("GetSecret", _, _), ("SetSecret", _, _): break
        default: throw .unknownMethod(call.member)
        }
        throw .wrongArguments(call)
    }

    private func delete(_ item: FoundItem) throws(BusFault) {
        switch item {
        case .promised: throw .isLocked
        case .session(let item):
            guard shared.sessionItems.delete(item.name) else { throw .noSuchObject(item.path) }
            tell("ItemDeleted", of: item.path, in: SecretNames.sessionCollection)
        case .stored(let item):
            guard !shared.isLocked(item.collection) else { throw .isLocked }
            try store.delete(item)
            tell("ItemDeleted", of: item.path, in: item.collection)
        }
    }

    private func secret(of item: FoundItem, _ path: String) throws(BusFault) -> BusValue {
        let session = try session(path)
        var result: BusValue?
        switch item {
        case .promised: throw .isLocked
        case .session(let item):
            try shared.sessionItems.withSecret(of: item) { secret throws(BusFault) in
                result = try Self.secret(secret, item.content.contentType, session, path)
            }
        case .stored(let item):
            try waitForGesture([item])
            try read(item) { secret throws(BusFault) in
                result = try Self.secret(secret, item.content.contentType, session, path)
            }
        }
        // What was unlocked may be locked, or gone, by now.
        guard let result else { throw .isLocked }
        return result
    }

    /// Reads an item that is unlocked for this client.
    func read(
        _ item: SecretItem,
        _ body: (Span<UInt8>) throws(BusFault) -> Void
    ) throws(BusFault) {
        let rules = try ownRules()
        guard !isLocked(item, rules) else { throw .isLocked }
        if demand(of: item, rules) != nil { return try read(granted: item, body) }
        try store.secrets(of: [item]) { _, secret throws(BusFault) in try body(secret) }
    }

    /// Reads an item for which the user gave a gesture.
    func read(
        granted item: SecretItem,
        _ body: (Span<UInt8>) throws(BusFault) -> Void
    ) throws(BusFault) {
        guard let context = grant(for: item.reference) else { throw .isLocked }
        shared.grants.noteRead(of: item.reference, by: name)
        try store.secrets(of: [item], context: context) { _, secret throws(BusFault) in try body(secret) }
    }

    private func set(_ secret: BusValue, of item: FoundItem) throws(BusFault) {
        let (read, octets) = try read(secret)
        guard octets.count <= ItemLimits.longestData else {
            throw .limit("a secret has at most \(ItemLimits.longestData) bytes")
        }
        switch item {
        case .promised: throw .isLocked
        case .session(let item):
            let secret = try octets.take()
            shared.sessionItems.change(item.name, secret) { $0.contentType = read.contentType }
            tell("ItemChanged", of: item.path, in: SecretNames.sessionCollection)
        case .stored(let item):
            guard !shared.isLocked(item.collection) else { throw .isLocked }
            var content = item.content
            content.contentType = read.contentType
            try store.replace(item, by: content, octets.take())
            tell("ItemChanged", of: item.path, in: item.collection)
        }
    }

    // MARK: Attributes

    /// Renames an item.
    func set(label: String, of item: FoundItem) throws(BusFault) {
        try SecretItemContent(label: label).checkLimits()
        switch item {
        case .promised: throw .isLocked
        case .session(let item):
            shared.sessionItems.change(item.name) { $0.label = label }
            tell("ItemChanged", of: item.path, in: SecretNames.sessionCollection)
        case .stored(let item):
            guard !shared.isLocked(item.collection) else { throw .isLocked }
            try store.rename(item, to: label)
            tell("ItemChanged", of: item.path, in: item.collection)
        }
    }

    /// Gives an item other attributes, in place of all that it has.
    func set(attributes: [String: String], of item: FoundItem) throws(BusFault) {
        try SecretItemContent.check(attributes)
        switch item {
        case .promised: throw .isLocked
        case .session(let item):
            shared.sessionItems.change(item.name) { $0.attributes = attributes }
            tell("ItemChanged", of: item.path, in: SecretNames.sessionCollection)
        case .stored(let item):
            var content = item.content
            content.attributes = attributes
            // Attributes can be removed only with the whole item, which is written with its own secret.
            var secret: SecretBytes?
            try read(item) { octets throws(BusFault) in
                do throws(SecretMemoryError) {
                    secret = try SecretBytes(lockedCopy: octets)
                } catch {
                    throw .noMemory
                }
            }
            guard let secret = secret.take() else { throw .isLocked }
            try store.replace(item, by: content, secret)
            tell("ItemChanged", of: item.path, in: item.collection)
        }
    }
}
