internal import Foundation
internal import KeychainClient
internal import KeychainModel
internal import SecretMemory

/// Calls of the daemon about generic passwords; they block, so they run on a waiting thread.
struct KeychainCalls {
    let client: RemoteKeychain
    /// The context in which the user authenticates; nil for none.
    let context: UInt64?
    let prompt: PromptFields
    let cancellation: Cancellation

    /// Adds a password.
    ///
    /// - Returns: false if an item of that name exists.
    func add(_ password: NewPassword) throws(TouchstoneError) -> Bool {
        try below { () throws(KeychainError) in
            // Locked memory for the copy here and for the message.
            let room = try LockedRoom.shared.reserve(
                2 * (password.bytes?.count ?? 0),
                cancellation: cancellation
            )
            defer { withExtendedLifetime(room) {} }
            let item = AddItem(
                itemClass: .genericPassword,
                attributes: password.storedAttributes,
                accessControl: try password.accessControl(),
                data: try password.bytes.map { bytes throws(KeychainError) in try SecretBytes.locked(bytes) },
                context: context,
                prompt: prompt
            )
            do throws(KeychainError) {
                _ = try client.add(item, cancellation: cancellation)
                return true
            } catch {
                guard error.status == .duplicateItem else { throw error }
                return false
            }
        }
    }

    /// The attribute `generic` of an item; nil if the item does not exist.
    func generic(of query: PasswordQuery) throws(TouchstoneError) -> [UInt8]? {
        try ifPresent { () throws(TouchstoneError) in
            FoundSecret(try copy(query.itemQuery(.attributes))).version
        }
    }

    /// Reads a password with its bytes, after the authentication that its rule requires.
    ///
    /// - Throws: ``TouchstoneError`` with `notFound`.
    func copy(_ query: PasswordQuery, under rule: AccessRule?) throws(TouchstoneError) -> FoundSecret {
        FoundSecret(try copy(query.itemQuery([.data, .attributes])))
    }

    /// Lists the passwords, invalidated ones included; shows no prompt.
    func list(_ query: PasswordQuery) throws(TouchstoneError) -> [ListedPassword] {
        var listed: [ListedPassword] = []
        try ifPresent { () throws(TouchstoneError) in
            let found = try copy(query.itemQuery([.attributes, .invalidated]), isShown: query.account != nil)
            found.forEach { item in
                guard case .string(let account)? = item.attributes?[.account] else { return }
                let standing: ListedPassword.Standing =
                    item.invalidated.map {
                        .invalidated($0 > 0 ? Date(timeIntervalSince1970: Double($0) / 1e6) : nil)
                    } ?? .present
                var password = ListedPassword(account: account, standing: standing)
                if case .data(let version)? = item.attributes?[.generic] { password.version = version }
                if case .string(let rule)? = item.attributes?[.comment] { password.rule = rule }
                listed.append(password)
            }
        }
        return listed
    }

    /// The services of all passwords that have an account; shows no prompt.
    func services(withAccount account: String, group: String?) throws(TouchstoneError) -> [String] {
        var services: [String] = []
        try ifPresent { () throws(TouchstoneError) in
            var attributes: ItemAttributes = [.account: .string(account)]
            attributes[.accessGroup] = group.map { .string($0) }
            let query = ItemQuery(
                itemClass: .genericPassword,
                attributes: attributes,
                limit: .all,
                returns: .attributes
            )
            try copy(query, isShown: false).forEach { item in
                if case .string(let service)? = item.attributes?[.service] { services.append(service) }
            }
        }
        return services
    }

    /// Replaces the bytes and the attribute `generic` of a password.
    ///
    /// - Throws: ``TouchstoneError`` with `notFound`.
    func replace(
        _ bytes: Data,
        of query: PasswordQuery,
        under rule: AccessRule,
        generic: [UInt8]
    ) throws(TouchstoneError) {
        try update(query, [.generic: .data(generic)], bytes: bytes, context: context)
    }

    /// Changes passwords to other attributes and another rule, and to other bytes if there are some, after the authentication that
    /// their present rule requires; without an account all that match, in one transaction.
    ///
    /// - Throws: ``TouchstoneError`` with `notFound`, or `alreadyExists` for a name that is taken.
    func move(
        _ query: PasswordQuery,
        under rule: AccessRule,
        to password: NewPassword
    ) throws(TouchstoneError) {
        let control = try below { () throws(KeychainError) in try password.accessControl() }
        try update(query, password.storedAttributes, control, bytes: password.bytes, context: context)
    }

    /// Whether a password names private keys that are deleted with it.
    ///
    /// - Throws: ``TouchstoneError`` with `notFound`.
    func namesKeys(_ query: PasswordQuery) throws(TouchstoneError) -> Bool {
        try copy(query.itemQuery(.attributes)).first()?.attributes?[.heldKeys] != nil
    }

    /// Changes the attributes of a password to those of another query.
    ///
    /// - Throws: ``TouchstoneError`` with `notFound`.
    func rename(_ query: PasswordQuery, to other: PasswordQuery) throws(TouchstoneError) {
        try update(query, other.values)
    }

    /// Deletes the matching passwords, invalidated ones included; shows no prompt.
    ///
    /// - Returns: whether there was one.
    func delete(_ query: PasswordQuery) throws(TouchstoneError) -> Bool {
        let count = try ifPresent { () throws(TouchstoneError) in
            try below { () throws(KeychainError) in
                try client.delete(
                    DeleteItems(query: query.itemQuery(.invalidated), prompt: prompt),
                    cancellation: cancellation
                ).count
            }
        }
        return (count ?? 0) > 0
    }

    /// Deletes all passwords whose service begins with one of the prefixes.
    func deleteAll(servicesWith prefixes: [String]) throws(TouchstoneError) {
        // Each round deletes as many items as one request may name, in one transaction.
        try ifPresent { () throws(TouchstoneError) in while try deleteSome(servicesWith: prefixes) {} }
    }

    /// Whether the keychain is locked now.
    func isLocked() throws(TouchstoneError) -> Bool {
        try below { () throws(KeychainError) in try client.status().keybag != .unlocked }
    }

    /// What protects the keychain.
    func level() throws(TouchstoneError) -> HardwareLevel { try HardwareLevel(of: client) }

    // MARK: Parts

    private func update(
        _ query: PasswordQuery,
        _ attributes: ItemAttributes,
        _ control: AccessControl? = nil,
        bytes: Data? = nil,
        context: UInt64? = nil
    ) throws(TouchstoneError) {
        try below { () throws(KeychainError) in
            let room = try LockedRoom.shared.reserve(bytes?.count ?? 0, cancellation: cancellation)
            defer { withExtendedLifetime(room) {} }
            let update = UpdateItems(
                query: query.itemQuery([]),
                attributes: attributes,
                accessControl: control,
                data: try bytes.map { bytes throws(KeychainError) in try SecretBytes.locked(bytes) },
                context: context,
                prompt: prompt
            )
            try client.update(update, cancellation: cancellation)
        }
    }

    // `isShown`: whether to use the context; a request that lists items needs none.
    private func copy(_ query: ItemQuery, isShown: Bool = true) throws(TouchstoneError) -> ItemResults {
        try below { () throws(KeychainError) in
            try client.copy(
                CopyItems(query: query, context: isShown ? context : nil, prompt: prompt),
                cancellation: cancellation
            )
        }
    }

    /// - Returns: whether there may be more to delete.
    private func deleteSome(servicesWith prefixes: [String]) throws(TouchstoneError) -> Bool {
        try below { () throws(KeychainError) in
            let all = ItemQuery(
                itemClass: .genericPassword,
                limit: .all,
                returns: [.attributes, .persistentRef, .invalidated]
            )
            var references: [PersistentReference] = []
            let found = try client.copy(CopyItems(query: all, prompt: prompt), cancellation: cancellation)
            found.forEach { item in
                guard case .string(let service)? = item.attributes?[.service],
                    prefixes.contains(where: service.hasPrefix)
                else { return }
                if let reference = item.reference { references.append(reference) }
            }
            guard !references.isEmpty else { return false }
            let some = Array(references.prefix(ItemLimits.mostReferences))
            let query = ItemQuery(
                itemClass: .genericPassword,
                limit: .all,
                returns: .invalidated,
                references: some
            )
            try client.delete(DeleteItems(query: query, prompt: prompt), cancellation: cancellation)
            return references.count > some.count
        }
    }
}

extension NewPassword {
    /// The attributes, with the keys that are deleted with the item.
    var storedAttributes: ItemAttributes {
        var attributes = attributes.values
        if !keys.isEmpty { attributes[.namedKeys] = .keys(keys.map { Array($0) }) }
        return attributes
    }

    func accessControl() throws(KeychainError) -> AccessControl {
        try rule?.control() ?? AccessControl(accessibility: .afterFirstUnlockThisDeviceOnly)
    }
}

extension PasswordQuery {
    /// The attributes that are not nil.
    var values: ItemAttributes {
        var attributes: ItemAttributes = [.service: .string(service)]
        attributes[.account] = account.map { .string($0) }
        attributes[.accessGroup] = group.map { .string($0) }
        attributes[.generic] = generic.map { .data($0) }
        attributes[.comment] = comment.map { .string($0) }
        return attributes
    }

    func itemQuery(_ returns: ItemQuery.Returns) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: values,
            limit: account == nil ? .all : .one,
            returns: returns
        )
    }
}

/// A secret that was read, in the locked memory of the reply.
final class FoundSecret: Sendable {
    private let results: ItemResults
    /// The version that was read; empty for an item that another API wrote.
    let version: [UInt8]

    init(_ results: consuming ItemResults) {
        var version: [UInt8] = []
        results.first()?.forEachAttribute { key, value in
            if key == .generic, case .data(let bytes) = value { version = bytes }
        }
        self.results = results
        self.version = version
    }

    /// Lends the bytes.
    func withBytes<R>(_ body: (RawSpan) -> R) throws(TouchstoneError) -> R {
        switch results.first() {
        case .some(let item):
            if let result = item.withData({ body($0.bytes) }) { return result }
        case .none: break
        }
        // Every item of this module has data; one without is damaged.
        throw TouchstoneError(.damaged)
    }

    /// A copy in ordinary memory.
    func bytes() throws(TouchstoneError) -> Data {
        try withBytes { bytes in bytes.withUnsafeBytes { Data($0) } }
    }
}

extension SecretBytes {
    /// Copies an app's bytes into locked memory.
    static func locked(_ bytes: Data) throws(KeychainError) -> SecretBytes {
        do throws(SecretMemoryError) {
            return try SecretBytes(lockedCopy: bytes.span)
        } catch {
            throw KeychainError(error)
        }
    }
}

extension TouchstoneError {
    /// The error for a secret that exists but can never be opened again.
    static var invalidatedItem: TouchstoneError {
        TouchstoneError(KeychainError(.itemNotFound, cause: .invalidated))
    }
}
