internal import Foundation
internal import Touchstone
internal import WebAuthnModel

/// What is kept of this device's registration; nothing in it is secret, as both keys are sealed by the daemon.
struct DeviceRecord: Codable, Sendable, Equatable {
    /// The account's name.
    let user: String
    /// What the user called the device.
    let label: String
    /// The rule of the key, as it is written.
    let rule: String
    /// The credential's id.
    let id: Data
    /// The credential, as ``DeviceKeys`` reads it.
    let credential: Data
    /// The session key for DPoP.
    let proofKey: Data

    /// The device as an app sees it.
    var device: LoginDevice {
        LoginDevice(id: Base64URL.encode(id), label: label, lastUsed: nil, isThisDevice: true)
    }
}

/// The credential of a device that was given up here and not yet at the server.
struct ForgottenDevice: Codable, Sendable, Equatable {
    let user: String
    let id: String
}

/// What a device keeps for one server: its record, which asks nobody, and the refresh token under the app's rule.
struct DeviceStore: Sendable {
    private let records: SecretStore
    private let tokens: SecretStore
    private let rule: AccessRule

    private static let device = "device"
    private static let forgotten = "forgotten"
    private static let refresh = "refresh"

    init(_ server: String, _ rule: AccessRule, _ keychain: Keychain) {
        records = SecretStore("login.device:\(server)", rule: .whenUnlocked, in: keychain)
        tokens = SecretStore("login.token:\(server)", rule: rule, in: keychain)
        self.rule = rule
    }

    // MARK: The record

    /// The record; nil where there is none.
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

    /// The record, made under the rule that the app has now.
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

    /// Keeps a record in the place of any other.
    func write(_ record: DeviceRecord) async throws(TouchstoneError) {
        try await records.write(record, for: Self.device)
    }

    // MARK: The token

    /// Seals a refresh token in the place of any other, under the rule of now; asks nobody.
    func seal(_ token: String) async throws(TouchstoneError) {
        // A value that is replaced asks for what the rule wants; one that is deleted and added does not.
        try await tokens.deleteAll()
        try await tokens.write(token, for: Self.refresh)
    }

    /// Opens the refresh token, after what the rule demands.
    func open(_ prompt: PromptText) async throws(TouchstoneError) -> String {
        try await tokens.read(Self.refresh, with: .prompt(prompt))
    }

    /// Deletes the refresh token.
    func deleteToken() async throws(TouchstoneError) { try await tokens.deleteAll() }

    // MARK: The end

    /// Deletes record and token.
    func delete() async throws(TouchstoneError) {
        try await tokens.deleteAll()
        try await records.delete(Self.device)
    }

    /// The credentials that the server is still to be told of.
    func forgottenDevices() async throws(TouchstoneError) -> [ForgottenDevice] {
        do throws(TouchstoneError) {
            return try await records.read(Self.forgotten, as: [ForgottenDevice].self)
        } catch {
            guard error.code == .notFound else { throw error }
            return []
        }
    }

    /// Notes a credential that the server is to be told of.
    func forget(_ user: String, _ id: String) async throws(TouchstoneError) {
        try await changeForgotten { $0.append(ForgottenDevice(user: user, id: id)) }
    }

    /// Changes which credentials the server is still to be told of; the newest 16 are kept.
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
