public import Foundation

/// Named secrets under one rule.
///
/// A store is a plain value: making one shows no prompt, does not block and cannot fail, so it can be a global.
///
/// The first write fixes the store's rule. A store value with another rule throws `ruleMismatch`, with both rules in the
/// error's details, until ``deleteAll()``. A secret that a change of the enrolled fingers invalidated throws `invalidated`
/// until the app deletes it: nothing is recreated implicitly.
///
/// ```swift
/// let tokens = SecretStore("com.example.tokens")
/// try await tokens.write(token, for: "octocat")
/// let token: String = try await tokens.read("octocat", with: "Sign in to Example")
/// ```
///
/// Reading decrypts: the keychain's own process releases the rule's key, after a prompt that it shows itself. The secret is
/// then in the app's memory; ``withBytes(of:with:_:)`` keeps it in memory that is locked and wiped.
public struct SecretStore: Sendable {
    /// The longest name of a store or of a key, in bytes of UTF-8.
    static let longestName = 255
    /// The longest secret, in bytes.
    static let longestSecret = 1 << 16

    /// The status of a key's value; read without decrypting it.
    public enum Status: Sendable, Hashable {
        /// The value can be read, with the authentication that the rule requires.
        case present
        /// The value can be read once the keychain is unlocked.
        case locked
        /// The value can never be read again; with the time of the invalidation, if known.
        case invalidated(Date?)
    }

    /// The store's name; all values of the same name and group are the same store.
    public let name: String
    /// What every use requires.
    public let rule: AccessRule
    let group: String?
    let keychain: Keychain

    /// Makes a value for a store; does not access the keychain.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes; a reverse domain name avoids conflicts.
    ///   - rule: What every use requires.
    ///   - group: The access group that shares the store; nil for this program alone.
    ///   - keychain: The keychain that holds the store.
    public init(
        _ name: String,
        rule: AccessRule = .biometry,
        group: String? = nil,
        in keychain: Keychain = .current
    ) {
        self.name = name
        self.rule = rule
        self.group = group
        self.keychain = keychain
    }

    /// Stores a value durably.
    ///
    /// Storing a new value shows no prompt; replacing a value needs the same authentication as reading it.
    ///
    /// - Parameters:
    ///   - value: `Data` and `String` are stored as they are, any other type as JSON, with dates as in ISO 8601; at most
    ///     65,536 bytes. An optional is stored as its wrapped value.
    ///   - key: The value's key, 1 to 255 bytes.
    ///   - permission: Authorises the replacement of an existing value.
    /// - Throws: ``TouchstoneError``: `limitExceeded`, `typeMismatch` for nil and for a value that cannot be encoded,
    ///   `invalidated` if the value to replace is invalidated.
    public func write<Value: Encodable>(
        _ value: Value,
        for key: String,
        with permission: Permission = .standard
    ) async throws(TouchstoneError) {
        let access = try access(permission, key)
        try await keychain.link.write(try SecretCoding.encode(value), for: key, access)
    }

    /// Reads a value.
    ///
    /// - Parameters:
    ///   - key: The value's key.
    ///   - type: The type to decode.
    ///   - permission: Authorises the read.
    /// - Returns: the value.
    /// - Throws: ``TouchstoneError``: `notFound`, `locked`, `userCancelled`, `invalidated`, `damaged`, `typeMismatch` and
    ///   the errors of a prompt are different codes.
    public func read<Value: Decodable>(
        _ key: String,
        as type: Value.Type = Value.self,
        with permission: Permission = .standard
    ) async throws(TouchstoneError) -> Value {
        let found = try await keychain.link.read(key, try access(permission, key))
        return try SecretCoding.decode(type, found.bytes())
    }

    /// Calls a closure with a value's bytes, in memory that is locked and wiped afterwards.
    ///
    /// - Parameters:
    ///   - key: The value's key.
    ///   - permission: Authorises the read.
    ///   - body: Runs on the caller's actor; the bytes are valid only during the call.
    /// - Returns: the result of `body`.
    /// - Throws: ``TouchstoneError`` as ``read(_:as:with:)``.
    public func withBytes<Result>(
        of key: String,
        with permission: Permission = .standard,
        _ body: (RawSpan) -> Result
    ) async throws(TouchstoneError) -> Result {
        let found = try await keychain.link.read(key, try access(permission, key))
        return try found.withBytes(body)
    }

    /// Reads a value, changes it and writes it, with one prompt and without losing concurrent changes.
    ///
    /// - Parameters:
    ///   - key: The value's key.
    ///   - type: The type to decode.
    ///   - permission: Authorises the read and the write.
    ///   - body: Changes the value; it gets nil if there is none, and setting nil deletes the value. Runs on the caller's
    ///     actor, and runs again if another program changed the value meanwhile.
    /// - Returns: the result of the last call of `body`.
    /// - Throws: ``TouchstoneError`` as ``read(_:as:with:)`` and ``write(_:for:with:)``, except `notFound`.
    public func update<Value: Codable, Result>(
        _ key: String,
        as type: Value.Type = Value.self,
        with permission: Permission = .standard,
        _ body: (inout Value?) -> Result
    ) async throws(TouchstoneError) -> Result {
        let access = try access(permission, key)
        let link = keychain.link
        return try await link.inContext(access) { context throws(TouchstoneError) in
            // A round fails only if another writer succeeded in between.
            for _ in 0..<1000 {
                let found = try await link.find(key, access, context)
                var value = try found.map { found throws(TouchstoneError) in
                    try SecretCoding.decode(type, found.bytes())
                }
                let result = body(&value)
                let bytes = try value.map { value throws(TouchstoneError) in try SecretCoding.encode(value) }
                guard try await link.exchange(found?.version, with: bytes, for: key, access, context) else {
                    continue
                }
                return (result, hasShown: found != nil)
            }
            throw TouchstoneError(.throttled, details: ["update: another program changes it all the time"])
        }
    }

    /// The status of every key in the store; shows no prompt.
    ///
    /// - Returns: the keys with their status; empty for a store that was never written.
    /// - Throws: ``TouchstoneError``: `locked` before the keychain's first unlock, `damaged`, `ruleMismatch`.
    public func status() async throws(TouchstoneError) -> [String: Status] {
        try await keychain.link.status(try access(.silent, nil))
    }

    /// The keys of all values that can be read, in order; shows no prompt.
    ///
    /// - Returns: the keys, without those of invalidated values, which ``status()`` has; empty for a store that was never written.
    /// - Throws: ``TouchstoneError`` as ``status()``.
    public func keys() async throws(TouchstoneError) -> [String] {
        let access = try access(.silent, nil)
        return try await keychain.link.keys(access, StoreContext(keychain.link, access))
    }

    /// Whether there is a value that can be read; shows no prompt.
    ///
    /// - Parameter key: The value's key.
    /// - Returns: false for an invalidated value, too, which ``status()`` tells from an absent one.
    /// - Throws: ``TouchstoneError`` as ``status()``, and `limitExceeded`.
    public func contains(_ key: String) async throws(TouchstoneError) -> Bool {
        try ItemName.check(key, "key")
        return try await keys().contains(key)
    }

    /// Reads all values, with one prompt.
    ///
    /// - Parameters:
    ///   - type: The type to decode each of them as.
    ///   - permission: Authorises the reads.
    /// - Returns: the values by key; empty, without a prompt, for a store that has none. Invalidated ones are left out:
    ///   ``status()`` has them.
    /// - Throws: ``TouchstoneError`` as ``read(_:as:with:)``, except `notFound` and `invalidated`: one value that is damaged, or of
    ///   another type, is an error of the whole call.
    public func readAll<Value: Decodable>(
        as type: Value.Type = Value.self,
        with permission: Permission = .standard
    ) async throws(TouchstoneError) -> [String: Value] {
        let access = try access(permission, nil)
        let link = keychain.link
        return try await link.inContext(access) { context throws(TouchstoneError) in
            var values: [String: Value] = [:]
            for key in try await link.keys(access, context) {
                // Another program may delete it meanwhile.
                guard let found = try await link.find(key, access, context) else { continue }
                values[key] = try SecretCoding.decode(type, found.bytes())
            }
            return (values, hasShown: !values.isEmpty)
        }
    }

    /// Deletes a value, even an invalidated one; shows no prompt.
    ///
    /// - Parameter key: The value's key.
    /// - Returns: whether there was a value.
    /// - Throws: ``TouchstoneError``: `locked` before the keychain's first unlock.
    @discardableResult
    public func delete(_ key: String) async throws(TouchstoneError) -> Deletion {
        try await keychain.link.delete(key, try access(.silent, key))
    }

    /// Deletes all values, and frees the name for another rule; shows no prompt.
    ///
    /// - Throws: ``TouchstoneError``: `locked` before the keychain's first unlock.
    public func deleteAll() async throws(TouchstoneError) {
        try await keychain.link.deleteAll(try access(.silent, nil))
    }

    /// Checks the arguments of one call and bundles them.
    func access(_ permission: Permission, _ key: String?) throws(TouchstoneError) -> StoreAccess {
        try ItemName.check(name, "name of a store")
        if let key { try ItemName.check(key, "key") }
        if let group { try ItemName.check(group, "group") }
        try rule.check()
        try permission.check()
        return StoreAccess(store: self, permission: permission, key: key)
    }
}

/// Whether there was an item to delete.
public enum Deletion: Sendable, Hashable {
    /// The item was deleted.
    case deleted
    /// There was no item of that name.
    case wasAbsent
}

/// The store, permission and key of one call, with their limits checked.
struct StoreAccess: Sendable {
    let store: SecretStore
    let permission: SecretStore.Permission
    /// The key; nil for the whole store.
    var key: String?

    /// The store's name and the key, for a log.
    var item: String { key.map { "\(store.name)/\($0)" } ?? store.name }
}

/// Checks the names of stores, keys and groups.
enum ItemName {
    /// - Throws: ``TouchstoneError`` with `limitExceeded`.
    static func check(_ name: String, _ what: String) throws(TouchstoneError) {
        guard 1...SecretStore.longestName ~= name.utf8.count, !name.utf8.contains(0) else {
            throw .limit("\(what): 1 to \(SecretStore.longestName) bytes, none of them 0")
        }
    }
}
