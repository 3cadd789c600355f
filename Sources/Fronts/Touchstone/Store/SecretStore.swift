public import Foundation

/// Named secrets under one rule; a value that neither asks, blocks nor fails, so it can be a global.
///
/// The first write fixes the store's rule. A handle with another rule gets `ruleMismatch`, with both rules in the error's
/// details, until ``deleteAll()``. What a change of fingers took away throws `invalidated` until the app deletes it: nothing is
/// made anew on its own.
///
/// ```swift
/// let tokens = SecretStore("com.example.tokens")
/// try await tokens.write(token, for: "octocat")
/// let token: String = try await tokens.read("octocat", with: "Sign in to Example")
/// ```
///
/// Reading decrypts: the rule's key is released in the keychain's own process, after the prompt it showed itself. What was
/// read is in the app's memory from then on; ``withBytes(of:with:_:)`` keeps it in memory that is locked and wiped.
public struct SecretStore: Sendable {
    /// The longest name of a store or of a key, in bytes of UTF-8.
    static let longestName = 255
    /// The longest secret, in bytes.
    static let longestSecret = 1 << 16

    /// Where a key stands; its bytes are not looked at.
    public enum Status: Sendable, Hashable {
        /// It can be read, by whoever the rule demands.
        case present
        /// It can be read once the keychain is unlocked.
        case locked
        /// It can never be read again, since this time where that is known.
        case invalidated(Date?)
    }

    /// The store's name, which it shares with every other handle of that name and group.
    public let name: String
    /// What every use demands.
    public let rule: AccessRule
    let group: String?
    private let keychain: Keychain

    /// Names a store.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes; a reverse domain name keeps stores apart.
    ///   - rule: What every use demands.
    ///   - group: The access group that shares it; nil for this program alone.
    ///   - keychain: Where it is.
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

    /// Stores a value, durably.
    ///
    /// A new one asks nobody; one that replaces another asks as reading it does.
    ///
    /// - Parameters:
    ///   - value: `Data` and `String` keep their bytes, any other becomes JSON; at most 65,536 bytes. An optional is stored
    ///     as what it wraps.
    ///   - key: 1 to 255 bytes.
    ///   - permission: What lets it replace another value.
    /// - Throws: ``TouchstoneError``: `limitExceeded`, `typeMismatch` for nil and for what cannot be encoded, `invalidated`
    ///   where a value is to be replaced that is.
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
    ///   - key: Its key.
    ///   - type: What it is read as.
    ///   - permission: What lets it be read.
    /// - Returns: the value.
    /// - Throws: ``TouchstoneError``: `notFound`, `locked`, `userCancelled`, `invalidated`, `damaged`, `typeMismatch` and
    ///   those of a prompt are different codes.
    public func read<Value: Decodable>(
        _ key: String,
        as type: Value.Type = Value.self,
        with permission: Permission = .standard
    ) async throws(TouchstoneError) -> Value {
        let found = try await keychain.link.read(key, try access(permission, key))
        return try SecretCoding.decode(type, found.bytes())
    }

    /// Lends a value's bytes, in memory that is locked and wiped afterwards.
    ///
    /// - Parameters:
    ///   - key: Its key.
    ///   - permission: What lets it be read.
    ///   - body: Runs where the caller runs; the bytes are there for its length.
    /// - Returns: what `body` returned.
    /// - Throws: ``TouchstoneError`` as ``read(_:as:with:)``.
    public func withBytes<Result>(
        of key: String,
        with permission: Permission = .standard,
        _ body: (RawSpan) -> Result
    ) async throws(TouchstoneError) -> Result {
        let found = try await keychain.link.read(key, try access(permission, key))
        return try found.withBytes(body)
    }

    /// Reads a value and writes what becomes of it: one prompt, and nobody else's change in between is lost.
    ///
    /// - Parameters:
    ///   - key: Its key.
    ///   - type: What it is read as.
    ///   - permission: What lets it be read and written.
    ///   - body: Gets the value, nil where there is none, and changes it; nil deletes. Runs where the caller runs, and once
    ///     more where another program changed the value meanwhile.
    /// - Returns: what `body` returned the last time.
    /// - Throws: ``TouchstoneError`` as ``read(_:as:with:)`` and ``write(_:for:with:)``, but for `notFound`.
    public func update<Value: Codable, Result>(
        _ key: String,
        as type: Value.Type = Value.self,
        with permission: Permission = .standard,
        _ body: (inout Value?) -> Result
    ) async throws(TouchstoneError) -> Result {
        let access = try access(permission, key)
        let link = keychain.link
        return try await link.inContext(access) { context throws(TouchstoneError) in
            // Each round that is lost is one that another writer won.
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

    /// Where every key of the store stands; asks nobody.
    ///
    /// - Returns: the keys with their status; empty for a store that was never written.
    /// - Throws: ``TouchstoneError``: `locked` before the keychain's first unlock, `damaged`, `ruleMismatch`.
    public func status() async throws(TouchstoneError) -> [String: Status] {
        try await keychain.link.status(try access(.silent, nil))
    }

    /// Deletes a value, invalidated ones too; asks nobody.
    ///
    /// - Parameter key: Its key.
    /// - Returns: whether there was one.
    /// - Throws: ``TouchstoneError``: `locked` before the keychain's first unlock.
    @discardableResult
    public func delete(_ key: String) async throws(TouchstoneError) -> Deletion {
        try await keychain.link.delete(key, try access(.silent, key))
    }

    /// Deletes all values, and frees the name for another rule; asks nobody.
    ///
    /// - Throws: ``TouchstoneError``: `locked` before the keychain's first unlock.
    public func deleteAll() async throws(TouchstoneError) {
        try await keychain.link.deleteAll(try access(.silent, nil))
    }

    /// What one call may do, checked.
    private func access(_ permission: Permission, _ key: String?) throws(TouchstoneError) -> StoreAccess {
        try ItemName.check(name, "name of a store")
        if let key { try ItemName.check(key, "key") }
        if let group { try ItemName.check(group, "group") }
        try rule.check()
        try permission.check()
        return StoreAccess(store: self, permission: permission, key: key)
    }
}

/// Whether there was something to delete.
public enum Deletion: Sendable, Hashable {
    /// It is deleted.
    case deleted
    /// There was nothing of that name.
    case wasAbsent
}

/// What one call on a store may do; its limits are checked.
struct StoreAccess: Sendable {
    let store: SecretStore
    let permission: SecretStore.Permission
    /// The key that it is about; nil for the whole store.
    var key: String?

    /// The same in words, for a log.
    var item: String { key.map { "\(store.name)/\($0)" } ?? store.name }
}

/// The names of stores, keys and groups.
enum ItemName {
    /// - Throws: ``TouchstoneError`` with `limitExceeded`.
    static func check(_ name: String, _ what: String) throws(TouchstoneError) {
        guard 1...SecretStore.longestName ~= name.utf8.count, !name.utf8.contains(0) else {
            throw .limit("\(what): 1 to \(SecretStore.longestName) bytes, none of them 0")
        }
    }
}
