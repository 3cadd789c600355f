import KeychainModel
import MessageBus
import SecretServiceModel

/// Which call is answered where.
extension SecretsClient {
    /// Answers a call, on a thread that may block.
    func answer(_ call: Call) throws(BusFault) -> [BusValue] {
        if call.interface == SecretNames.introspectable, call.member == "Introspect" {
            return [.string(try introspection(of: call.path))]
        }
        guard let object = SecretObject(call.path) else { throw .unknownObject(call.path) }
        if call.interface == SecretNames.properties { return try answerProperties(call, object) }
        if call.interface == SecretNames.leases, object == .service { return try answerLeases(call) }
        guard call.interface == nil || call.interface == object.interface else {
            throw .unknownMethod("\(call.interface ?? "").\(call.member)")
        }
        switch object {
        case .service: return try answerService(call)
        case .collection, .alias: return try answerCollection(call, try collection(of: object))
        case .item(let collection, let name): return try answerItem(call, try item(name, in: collection))
        case .session(_):
            guard call.member == "Close" else { throw .unknownMethod(call.member) }
            try close(session: call.path)
            return []
        case .prompt(_): return try answerPrompt(call)
        }
    }

    private func answerPrompt(_ call: Call) throws(BusFault) -> [BusValue] {
        let prompt = try prompt(call.path)
        switch (call.member, call.arguments.first) {
        case ("Prompt", .string?): try prompt.show()
        case ("Dismiss", nil): prompt.dismiss()
        case ("Prompt", _), ("Dismiss", _): throw .wrongArguments(call)
        default: throw .unknownMethod(call.member)
        }
        return []
    }

    // MARK: Objects

    /// The collection that a path means.
    func collection(of object: SecretObject) throws(BusFault) -> String {
        switch object {
        case .collection(let name):
            guard try isCollection(name) else { throw .noSuchObject(object.path) }
            return name
        case .alias(let name):
            guard let collection = try collection(alias: name) else { throw .noSuchObject(object.path) }
            return collection
        default: throw .noSuchObject(object.path)
        }
    }

    /// Whether there is a collection of a name; nobody knows while the keychain is locked.
    private func isCollection(_ name: String) throws(BusFault) -> Bool {
        switch name {
        case SecretNames.defaultCollection, SecretNames.sessionCollection: true
        default: try store.collection(name) != nil
        }
    }

    /// The collection that an alias stands for; nil if it stands for none.
    func collection(alias name: String) throws(BusFault) -> String? {
        switch name {
        case SecretNames.sessionCollection, SecretNames.defaultCollection: return name
        case SecretNames.defaultAlias:
            let set =
                try unlessLocked { () throws(BusFault) -> String? in try collection(setAs: name) } ?? nil
            return set ?? SecretNames.defaultCollection
        default: return try collection(setAs: name)
        }
    }

    /// The collection that a client let an alias stand for, if it is there.
    private func collection(setAs alias: String) throws(BusFault) -> String? {
        guard let set = try store.alias(alias), try isCollection(set) else { return nil }
        return set
    }

    /// The aliases of a collection, whose paths are its own too.
    func aliases(of collection: String) -> [String] {
        guard collection != SecretNames.sessionCollection else { return [] }
        let set = (try? store.aliases()) ?? [:]
        var names = set.filter { $0.value == collection }.map(\.key)
        if collection == SecretNames.defaultCollection {
            if set[SecretNames.defaultAlias] == nil { names.append(SecretNames.defaultAlias) }
            names.append(SecretNames.defaultCollection)
        }
        return names.sorted()
    }

    /// An item that a path means.
    enum FoundItem: Sendable {
        case stored(SecretItem)
        case session(SessionItems.Item)
        /// Nothing is known of it while the keychain is locked.
        case promised(Promise)
    }

    /// The item of a path.
    ///
    /// - Throws: ``BusFault``: no such object; locked, for a path that is no promised one.
    func item(_ name: String, in collection: String) throws(BusFault) -> FoundItem {
        let path = SecretObject.item(collection: collection, name: name).path
        if collection == SecretNames.sessionCollection {
            guard let item = shared.sessionItems.item(name) else { throw .noSuchObject(path) }
            return .session(item)
        }
        if let promise = promise(name) {
            let kept = try unlessLocked { () throws(BusFault) in
                try store.items(in: promise.collection, having: promise.attributes)
            }
            guard let kept else { return .promised(promise) }
            guard let item = kept.first else { throw .noSuchObject(path) }
            return .stored(item)
        }
        guard let item = try store.item(name, in: collection) else { throw .noSuchObject(path) }
        return .stored(item)
    }

    // MARK: Introspection

    private func introspection(of path: String) throws(BusFault) -> String {
        let object = SecretObject(path)
        switch object {
        case nil:
            return Introspection.document(of: nil, children: try children(of: path))
        case .service?:
            return Introspection.document(of: .service, children: ["aliases", "collection"])
        case .collection?, .alias?:
            guard let object else { break }
            _ = try collection(of: object)
        case .item(let collection, let name)?: _ = try item(name, in: collection)
        case .session?: _ = try session(path)
        case .prompt?: _ = try prompt(path)
        }
        return Introspection.document(of: object, children: [])
    }

    /// The nodes below a path that is no object's.
    private func children(of path: String) throws(BusFault) -> [String] {
        switch path {
        case SecretNames.root + "/collection": return try collectionNames()
        case SecretNames.root + "/aliases": return [SecretNames.defaultAlias, SecretNames.defaultCollection]
        default:
            // A part of the path to the service.
            let prefix = path == "/" ? path : path + "/"
            guard SecretNames.root.hasPrefix(prefix),
                let next = SecretNames.root.dropFirst(prefix.count).split(separator: "/").first
            else { throw .unknownObject(path) }
            return [String(next)]
        }
    }
}

extension BusFault {
    /// The arguments are not those of the method.
    static func wrongArguments(_ call: SecretsClient.Call) -> BusFault {
        let signature = call.arguments.map(\.signature).joined()
        return .invalidArguments(
            "\(call.member) does not take \(signature.isEmpty ? "no arguments" : signature)"
        )
    }
}
