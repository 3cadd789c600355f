internal import Foundation
internal import Touchstone

/// A device's stored data for one server: for each account a record, readable without a prompt, and the refresh token under
/// the app's rule.
///
/// An earlier version stored one record and one token for a server, whosever they were. They are read as the account's whose
/// user handle the record's credential has, and stay where they are until that account has a record, or a token, of its own.
struct DeviceStore: Sendable {
    private let server: String
    private let rule: AccessRule
    private let keychain: Keychain
    private let records: SecretStore

    /// The key of the record of an earlier version.
    static let device = "device"
    static let forgotten = "forgotten"
    static let refresh = "refresh"
    /// The beginning of the keys of the accounts' records.
    private static let accounts = "account:"
    /// The maximum number of accounts of a server.
    static let mostAccounts = 32
    /// The maximum number of credentials to remove on the server.
    private static let mostForgotten = 64

    /// The name of the store of a server's records.
    static func recordStore(_ server: String) -> String { "login.device:\(server)" }
    /// The name of the store of an account's token; nil: of an earlier version's.
    ///
    /// A server's address has no fragment.
    static func tokenStore(_ server: String, _ account: String?) -> String {
        "login.token:\(server)\(account.map { "#\($0)" } ?? "")"
    }
    /// The key of an account's record.
    static func key(of account: String) -> String { accounts + account }

    init(_ server: String, _ rule: AccessRule, _ keychain: Keychain) {
        self.server = server
        self.rule = rule
        self.keychain = keychain
        records = SecretStore(Self.recordStore(server), rule: .whenUnlocked, in: keychain)
    }

    // MARK: Records

    /// The records of all accounts, by name.
    func all(_ permission: SecretStore.Permission) async throws(TouchstoneError) -> [DeviceRecord] {
        var all: [String: DeviceRecord] = [:]
        // Before the names are listed, which may need an unlocked keychain.
        if let former = try await read(Self.device, permission) { all[try former.account] = former }
        for key in try await ownKeys() {
            // Another program may delete it meanwhile.
            guard let record = try await read(key, permission) else { continue }
            all[try record.account] = record
        }
        return all.sorted { ($0.value.user, $0.key) < ($1.value.user, $1.key) }.map(\.value)
    }

    /// The record of an account; nil if there is none.
    func find(
        _ account: String,
        _ permission: SecretStore.Permission
    ) async throws(TouchstoneError) -> DeviceRecord? {
        if let own = try await read(Self.key(of: account), permission) { return own }
        return try await former(account, permission)
    }

    /// The record of an account, or the only one there is, if its rule is the app's current rule.
    ///
    /// - Throws: `TouchstoneError`: `notFound`, `ruleMismatch`, `limitExceeded` without an account if there are several.
    func require(
        _ account: String?,
        _ permission: SecretStore.Permission
    ) async throws(TouchstoneError) -> DeviceRecord {
        let record = try await choose(account, permission)
        guard let record else { throw TouchstoneError(.notFound) }
        guard record.rule == rule.description else {
            throw TouchstoneError(
                .ruleMismatch,
                details: ["made with: \(record.rule)", "asked for: \(rule)"]
            )
        }
        return record
    }

    /// The record of an account, or the only one there is; nil if there is none.
    ///
    /// - Throws: `TouchstoneError` with `limitExceeded` without an account if there are several.
    func choose(
        _ account: String?,
        _ permission: SecretStore.Permission
    ) async throws(TouchstoneError) -> DeviceRecord? {
        if let account { return try await find(account, permission) }
        let all = try await all(permission)
        guard all.count <= 1 else {
            throw TouchstoneError(
                .limitExceeded,
                cause: "severalAccounts",
                details: ["\(all.count) accounts are set up: choose one, account(_:)"]
            )
        }
        return all.first
    }

    /// Stores the record of an account, replacing any other of it.
    ///
    /// The credential's key is deleted with the record, or when another credential takes its place. The session key is not: a session
    /// that was begun before goes on with it.
    func write(_ record: DeviceRecord) async throws(TouchstoneError) {
        try await put(record, Self.key(of: record.account))
    }

    /// Changes the name of an account, in the record that it has.
    func rename(_ record: DeviceRecord, to user: String) async throws(TouchstoneError) {
        var renamed = record
        renamed.user = user
        let key = Self.key(of: try record.account)
        try await put(renamed, try await read(key, .silent) == nil ? Self.device : key)
    }

    /// - Throws: `TouchstoneError` with `limitExceeded` if one more account would be too many.
    func checkHasRoom() async throws(TouchstoneError) {
        guard try await all(.standard).count < Self.mostAccounts else {
            throw TouchstoneError(
                .limitExceeded,
                details: ["accounts: at most \(Self.mostAccounts) of a server are set up on a device"]
            )
        }
    }

    // MARK: Tokens

    /// Stores an account's refresh token under the current rule, replacing any other in one step; shows no prompt.
    func seal(_ token: String, of account: String) async throws(TouchstoneError) {
        try await tokens(account).replaceUnread(token, for: Self.refresh)
        guard try await former(account, .silent) != nil else { return }
        try await tokens(nil).deleteAll()
        // Once the account has a record of its own, the former one says nothing any more.
        guard try await read(Self.key(of: account), .silent) != nil else { return }
        try await records.delete(Self.device)
    }

    /// Reads an account's refresh token, after the authentication that the rule requires.
    func open(_ account: String, _ prompt: PromptText) async throws(TouchstoneError) -> String {
        do throws(TouchstoneError) {
            return try await tokens(account).read(Self.refresh, with: .prompt(prompt))
        } catch {
            guard error.code == .notFound, try await former(account, .silent) != nil else { throw error }
            return try await tokens(nil).read(Self.refresh, with: .prompt(prompt))
        }
    }

    /// Deletes an account's refresh token.
    func deleteToken(_ account: String) async throws(TouchstoneError) {
        if try await former(account, .silent) != nil { try await tokens(nil).deleteAll() }
        try await tokens(account).deleteAll()
    }

    // MARK: The end

    /// Deletes the record and the token of an account.
    func delete(_ account: String) async throws(TouchstoneError) {
        // What an earlier version stored is the account's as long as its record is there, so the record goes after the token.
        try await deleteToken(account)
        if try await former(account, .silent) != nil { try await records.delete(Self.device) }
        try await records.delete(Self.key(of: account))
    }

    /// Deletes the records that cannot be read, with the tokens of their accounts.
    ///
    /// - Parameter account: only of this account; nil: of all.
    /// - Throws: `TouchstoneError` for what is not damage, such as `locked`.
    func deleteDamaged(_ account: String?) async throws(TouchstoneError) {
        let keys = [Self.device] + (try await ownKeys())
        for key in keys where account.map({ [Self.device, Self.key(of: $0)].contains(key) }) ?? true {
            do throws(TouchstoneError) {
                _ = try await read(key, .silent)?.account
            } catch {
                guard error.code == .damaged else { throw error }
                try await tokens(key == Self.device ? nil : String(key.dropFirst(Self.accounts.count)))
                    .deleteAll()
                try await records.delete(key)
            }
        }
    }

    /// The credentials that must still be removed on the server.
    func forgottenDevices() async throws(TouchstoneError) -> [ForgottenDevice] {
        do throws(TouchstoneError) {
            return try await records.read(Self.forgotten, as: [ForgottenDevice].self, with: .silent)
        } catch {
            guard error.code == .notFound else { throw error }
            return []
        }
    }

    /// Adds a credential to remove on the server.
    func forget(_ device: ForgottenDevice) async throws(TouchstoneError) {
        try await changeForgotten(.standard) { devices in
            if !devices.contains(where: { $0.id == device.id }) { devices.append(device) }
        }
    }

    /// Records that a credential was removed on the server.
    func noteRemoved(_ id: String) async throws(TouchstoneError) {
        try await changeForgotten(.silent) { $0.removeAll { $0.id == id } }
    }

    /// Changes the list of credentials to remove on the server; keeps the newest.
    private func changeForgotten(
        _ permission: SecretStore.Permission,
        _ change: (inout [ForgottenDevice]) -> Void
    ) async throws(TouchstoneError) {
        try await records.update(Self.forgotten, as: [ForgottenDevice].self, with: permission) { devices in
            var all = devices ?? []
            change(&all)
            devices = all.isEmpty ? nil : Array(all.suffix(Self.mostForgotten))
        }
    }

    // MARK: Parts

    private func tokens(_ account: String?) -> SecretStore {
        SecretStore(Self.tokenStore(server, account), rule: rule, in: keychain)
    }

    private func ownKeys() async throws(TouchstoneError) -> [String] {
        try await records.keys().filter { $0.hasPrefix(Self.accounts) }
    }

    private func put(_ record: DeviceRecord, _ key: String) async throws(TouchstoneError) {
        let own = try DeviceKeys.representation(of: record.credential)
        try await records.replaceUnread(record, for: key, keys: [own])
    }

    private func read(
        _ key: String,
        _ permission: SecretStore.Permission
    ) async throws(TouchstoneError) -> DeviceRecord? {
        do throws(TouchstoneError) {
            return try await records.read(key, as: DeviceRecord.self, with: permission)
        } catch {
            switch error.code {
            case .notFound: return nil
            case .typeMismatch: throw TouchstoneError(.damaged, details: ["the record of a device"])
            default: throw error
            }
        }
    }

    /// The record of an earlier version, if it is of this account.
    private func former(
        _ account: String,
        _ permission: SecretStore.Permission
    ) async throws(TouchstoneError) -> DeviceRecord? {
        guard let former = try await read(Self.device, permission), try former.account == account else {
            return nil
        }
        return former
    }
}
