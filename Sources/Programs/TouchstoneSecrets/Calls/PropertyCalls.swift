import KeychainModel
import MessageBus
import SecretServiceModel

/// The methods of `org.freedesktop.DBus.Properties`.
extension SecretsClient {
    func answerProperties(_ call: Call, _ object: SecretObject) throws(BusFault) -> [BusValue] {
        guard case .string(let interface)? = call.arguments.first else { throw .wrongArguments(call) }
        guard interface == object.interface || interface.isEmpty else {
            // Every object has the interfaces of D-Bus itself, which have no properties.
            if call.member == "GetAll" { return [.properties([:])] }
            throw .unknownProperty(interface)
        }
        switch (call.member, call.arguments.count) {
        case ("GetAll", 1): return [.properties(try properties(of: object))]
        case ("Get", 2):
            guard case .string(let name) = call.arguments[1] else { break }
            guard let value = try properties(of: object, only: name)[name] else {
                throw .unknownProperty(name)
            }
            return [.variant(value)]
        case ("Set", 3):
            guard case .string(let name) = call.arguments[1], case .variant(let value) = call.arguments[2]
            else { break }
            try set(name, of: object, to: value)
            return []
        case ("GetAll", _), ("Get", _), ("Set", _): break
        default: throw .unknownMethod(call.member)
        }
        throw .wrongArguments(call)
    }

    /// The properties of an object; with `only`, the others may be left out.
    private func properties(
        of object: SecretObject,
        only name: String? = nil
    ) throws(BusFault) -> [String: BusValue] {
        switch object {
        case .service:
            let paths = try collectionNames().map { SecretObject.collection($0).path }
            return ["Collections": .paths(paths)]
        case .collection, .alias: return try properties(ofCollection: try collection(of: object), only: name)
        case .item(let collection, let name): return try properties(of: item(name, in: collection))
        case .session(_):
            _ = try session(object.path)
            return [:]
        case .prompt(_):
            _ = try prompt(object.path)
            return [:]
        }
    }

    private func properties(
        ofCollection collection: String,
        only name: String?
    ) throws(BusFault) -> [String: BusValue] {
        var record: SecretStore.Collection?
        var isLocked = false
        if collection != SecretNames.sessionCollection {
            let found = try unlessLocked { () throws(BusFault) in try store.collection(collection) }
            record = found ?? nil
            isLocked = found == nil || shared.isLocked(collection)
        }
        var properties: [String: BusValue] = [
            "Label": .string(Self.label(collection, record)), "Locked": .boolean(isLocked),
            "Created": .uint64(record?.created ?? 0), "Modified": .uint64(record?.modified ?? 0),
        ]
        if name == nil || name == "Items" { properties["Items"] = .paths(try paths(in: collection)) }
        return properties
    }

    /// The name of a collection that people see.
    func label(ofCollection name: String) -> String {
        Self.label(name, (try? store.collection(name)) ?? nil)
    }

    private static func label(_ name: String, _ record: SecretStore.Collection?) -> String {
        switch (record, name) {
        case (let record?, _): record.label
        case (nil, SecretNames.defaultCollection): "Login"
        case (nil, SecretNames.sessionCollection): "Session"
        case (nil, let name): name
        }
    }

    private func properties(of item: FoundItem) throws(BusFault) -> [String: BusValue] {
        let (content, created, modified, isLocked): (SecretItemContent, UInt64, UInt64, Bool)
        switch item {
        case .stored(let item):
            (content, created, modified) = (item.content, item.created, item.modified)
            isLocked = try self.isLocked(item)
        case .session(let item):
            (content, created, modified, isLocked) = (item.content, item.created, item.modified, false)
        case .promised(let promise):
            // As much as its client said: the rest is sealed.
            content = SecretItemContent(label: "Locked", attributes: promise.attributes)
            (created, modified, isLocked) = (0, 0, true)
        }
        return [
            "Locked": .boolean(isLocked), "Label": .string(content.label),
            "Attributes": .textPairs(content.attributes), "Created": .uint64(created),
            "Modified": .uint64(modified),
        ]
    }

    private func set(_ name: String, of object: SecretObject, to value: BusValue) throws(BusFault) {
        switch (object, name) {
        case (.collection, "Label"), (.alias, "Label"):
            guard case .string(let label) = value else { throw .invalidArguments("a label is a text") }
            try rename(collection: try collection(of: object), to: label)
        case (.item(let collection, let item), "Label"):
            guard case .string(let label) = value else { throw .invalidArguments("a label is a text") }
            try set(label: label, of: try self.item(item, in: collection))
        case (.item(let collection, let item), "Attributes"):
            guard let pairs = value.textPairs else { throw .invalidArguments("attributes are texts by name") }
            try set(attributes: pairs, of: try self.item(item, in: collection))
        default:
            guard try properties(of: object)[name] != nil else { throw .unknownProperty(name) }
            throw .readOnly(name)
        }
    }

    private func rename(collection: String, to label: String) throws(BusFault) {
        try SecretItemContent(label: label).checkLimits()
        guard collection != SecretNames.sessionCollection else { throw .readOnly("Label") }
        guard !shared.isLocked(collection) else { throw .isLocked }
        try store.write(collection: collection, label: label)
        shared.tell("CollectionChanged", of: collection)
    }
}
