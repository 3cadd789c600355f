internal import Foundation
internal import Touchstone
internal import WebAuthnModel

/// The stored record of this device's registration; nothing in it is secret, because the daemon seals both
/// keys.
struct DeviceRecord: Codable, Sendable, Equatable {
    /// The account's name.
    let user: String
    /// The device's name on the server: the user's name for it, with a number if the account had that name already.
    var label: String
    /// The rule of the key, in source form.
    let rule: String
    /// The credential's id.
    let id: Data
    /// The credential, in the encoding that ``DeviceKeys`` reads.
    let credential: Data
    /// The session key for DPoP.
    let proofKey: Data

    /// The names in the stored JSON, whatever a property is called.
    enum CodingKeys: String, CodingKey, CaseIterable {
        case user = "user"
        case label = "label"
        case rule = "rule"
        case id = "id"
        case credential = "credential"
        case proofKey = "proofKey"
    }

    /// The device as the public API shows it.
    var device: LoginDevice {
        LoginDevice(id: Base64URL.encode(id), label: label, lastUsed: nil, isThisDevice: true)
    }
}

/// The credential of a device that was deleted here but not yet on the server.
struct ForgottenDevice: Codable, Sendable, Equatable {
    let user: String
    let id: String

    /// The names in the stored JSON, whatever a property is called.
    enum CodingKeys: String, CodingKey, CaseIterable {
        case user = "user"
        case id = "id"
    }
}

/// A device's stored data for one server: its record, readable without a prompt, and the refresh token under the
/// app's rule.
struct DeviceStore: Sendable {
    private let records: SecretStore
    private let tokens: SecretStore
    private let rule: AccessRule

    static let device = "device"
    static let forgotten = "forgotten"
    static let refresh = "refresh"

    /// The name of the store of a server's records.
    static func recordStore(_ server: String) -> String { "login.device:\(server)" }
    /// The name of the store of a server's tokens.
    static func tokenStore(_ server: String) -> String { "login.token:\(server)" }

    init(_ server: String, _ rule: AccessRule, _ keychain: Keychain) {
        records = SecretStore(Self.recordStore(server), rule: .whenUnlocked, in: keychain)
        tokens = SecretStore(Self.tokenStore(server), rule: rule, in: keychain)
        self.rule = rule
    }

    // MARK: The record

    /// The record; nil if there is none.
    func find(_ permission: SecretStore.Permission) async throws(TouchstoneError) -> DeviceRecord? {
        do throws(TouchstoneError) {
            return try await records.read(Self.device, as: DeviceRecord.self, with: permission)
        } catch {
            switch error.code {
            case .notFound: return nil
            case .typeMismatch: throw TouchstoneError(.damaged, details: ["the record of a device"])
            default: throw error
            }
        }
    }

    /// The record, if its rule is the app's current rule.
    ///
    /// - Throws: `TouchstoneError`: `notFound`, `ruleMismatch`.
    func require(_ permission: SecretStore.Permission) async throws(TouchstoneError) -> DeviceRecord {
        guard let record = try await find(permission) else { throw TouchstoneError(.notFound) }
        guard record.rule == rule.description else {
            throw TouchstoneError(
                .ruleMismatch,
                details: ["made with: \(record.rule)", "asked for: \(rule)"]
            )
        }
        return record
    }

    /// Stores the record, replacing any other.
    ///
    /// The credential's key is deleted with the record, or when another credential takes its place. The session key is not: a session
    /// that was begun before goes on with it.
    func write(_ record: DeviceRecord) async throws(TouchstoneError) {
        let key = try DeviceKeys.representation(of: record.credential)
        try await records.replaceUnread(record, for: Self.device, keys: [key])
    }

    // MARK: The token

    /// Stores a refresh token under the current rule, replacing any other in one step; shows no prompt.
    func seal(_ token: String) async throws(TouchstoneError) {
        try await tokens.replaceUnread(token, for: Self.refresh)
    }

    /// Reads the refresh token, after the authentication that the rule requires.
    func open(_ prompt: PromptText) async throws(TouchstoneError) -> String {
        try await tokens.read(Self.refresh, with: .prompt(prompt))
    }

    /// Deletes the refresh token.
    func deleteToken() async throws(TouchstoneError) { try await tokens.deleteAll() }

    // MARK: The end

    /// Deletes the record and the token.
    func delete() async throws(TouchstoneError) {
        try await tokens.deleteAll()
        try await records.delete(Self.device)
    }

    /// The credentials that must still be removed on the server.
    func forgottenDevices() async throws(TouchstoneError) -> [ForgottenDevice] {
        do throws(TouchstoneError) {
            return try await records.read(Self.forgotten, as: [ForgottenDevice].self)
        } catch {
            guard error.code == .notFound else { throw error }
            return []
        }
    }

    /// Adds a credential to remove on the server.
    func forget(_ user: String, _ id: String) async throws(TouchstoneError) {
        try await changeForgotten { $0.append(ForgottenDevice(user: user, id: id)) }
    }

    /// Changes the list of credentials to remove on the server; keeps the newest 16.
    func changeForgotten(
        _ change: (inout [ForgottenDevice]) -> Void
    ) async throws(TouchstoneError) {
        try await records.update(Self.forgotten, as: [ForgottenDevice].self) { devices in
            var all = devices ?? []
            change(&all)
            devices = all.isEmpty ? nil : Array(all.suffix(16))
        }
    }
}
